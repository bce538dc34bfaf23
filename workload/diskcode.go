package workload

import "ftracelab/machine"

// The kernel code of reading and writing a block device.
//
// Departure: there is no disk in the captures from which the model was learned. The
// functions and events, and their order, are those of a kernel of that version, but
// most leaf functions are left out.
//
// Kernel: mm/filemap.c, mm/readahead.c, fs/mpage.c, fs/buffer.c, block/fops.c,
// block/blk-core.c, block/blk-mq.c, drivers/block/virtio_blk.c.

// checks adds the functions with which read and write begin.
func checks(a *machine.Assembler, call string) *machine.Assembler {
	a.Jump("__x64_sys_" + call).Jump("ksys_" + call).Call("fdget_pos").Return(1).Call("vfs_" + call)
	return a.Call("rw_verify_area").Call("security_file_permission").Return(2)
}

// readCode is a read(2) of a page from the cache. Before that, sync pages are read into
// the cache, and async pages are read ahead. wait says that the call waits for a
// transfer.
func readCode(sync, async uint64, wait bool) func(*machine.Assembler) {
	return func(a *machine.Assembler) {
		checks(a, "read").Call("blkdev_read_iter").Call("filemap_read")
		a.Call("filemap_get_pages").Call("filemap_get_read_batch").Return(1)
		if sync > 0 {
			a.Call("page_cache_sync_ra")
			readahead(a, sync)
			a.Return(1).Call("filemap_get_read_batch").Return(1)
		}
		if async > 0 {
			a.Call("page_cache_async_ra")
			readahead(a, async)
			a.Return(1)
		}
		if wait {
			awaitFolio(a)
		}
		a.Return(1).Call("folio_mark_accessed").Return(1).Call("touch_atime").Call("atime_needs_update").Return(2)
		a.Return(2).Return(3)
	}
}

// readahead adds the reading of pages in one bio.
func readahead(a *machine.Assembler, pages uint64) {
	a.Call("page_cache_ra_order").Jump("page_cache_ra_unbounded")
	for range pages {
		a.Call("filemap_alloc_folio_noprof").Return(1).Call("filemap_add_folio").Return(1)
	}
	a.Call("read_pages").Call("blk_start_plug").Return(1).Call("blkdev_readahead").Call("mpage_readahead")
	for n := range pages {
		a.Call("do_mpage_readpage").Call("blkdev_get_block").Return(1)
		if n == 0 {
			a.Call("bio_alloc_bioset").Return(1)
		}
		a.Call("bio_add_folio").Return(2)
	}
	a.Call("guard_bio_eod").Return(1)
	submit(a, 0)
	a.Return(2)
	unplug(a)
	a.Return(3)
}

// submit passes a bio to the block layer. All bios after the first one are merged with
// it.
func submit(a *machine.Assembler, bio int32) {
	a.Call("submit_bio").Call("submit_bio_noacct").Call("submit_bio_noacct_nocheck").Trace(machine.EvBlockBioQueue, bio)
	a.Call("__submit_bio").Call("blk_mq_submit_bio")
	if bio > 0 {
		a.Call("blk_attempt_plug_merge").Call("bio_attempt_back_merge").Trace(machine.EvBlockBackmerge, bio).Return(2)
	} else {
		a.Call("__blk_mq_alloc_requests").Call("blk_mq_get_tag").Call("__blk_mq_get_tag").Return(3)
		a.Trace(machine.EvBlockGetrq, bio).Trace(machine.EvBlockIOStart, bio)
		a.Call("blk_add_rq_to_plug").Trace(machine.EvBlockPlug, 0).Return(1)
	}
	a.Return(5)
}

// unplug passes the request to the driver.
func unplug(a *machine.Assembler) {
	a.Call("blk_finish_plug").Call("__blk_flush_plug").Call("blk_mq_flush_plug_list").Trace(machine.EvBlockUnplug, 1)
	a.Call("virtio_queue_rqs").Call("virtblk_prep_rq.isra.0").Call("blk_mq_start_request").Trace(machine.EvBlockRqIssue, 0).Return(2)
	a.Call("virtblk_add_req_batch").Call("_raw_spin_lock_irqsave").Return(1).State(machine.FlagIRQsOff, 1, 0)
	a.Call("virtblk_add_req").Call("virtqueue_add_sgs").Return(2).Call("virtqueue_kick_prepare").Return(1)
	a.Call("_raw_spin_unlock_irqrestore").Return(1).State(0, 0, 0)
	a.Call("virtqueue_notify").Call("vp_notify").Return(2).Return(2).Return(3)
}

// awaitFolio sleeps until a transfer is done.
func awaitFolio(a *machine.Assembler) {
	a.Hide("folio_wait_bit_common").Call("io_schedule").Call("schedule").State(0, 1, 0).Hide("__schedule")
	a.State(machine.FlagIRQsOff, 1, 0).Switch(machine.StateUninterruptible).State(0, 1, 0).Return(1).State(0, 0, 0).Return(3)
}

// writeCode is a write(2) to a page in the cache.
func writeCode(a *machine.Assembler) {
	checks(a, "write").Call("blkdev_write_iter").Call("generic_perform_write")
	a.Call("blkdev_write_begin").Call("block_write_begin").Call("__block_write_begin_int").Call("blkdev_get_block").Return(4)
	a.Call("blkdev_write_end").Call("block_write_end").Call("__block_commit_write").Call("mark_buffer_dirty")
	a.Trace(machine.EvBlockDirtyBuffer, 0).Return(4).Call("balance_dirty_pages_ratelimited_flags").Return(1)
	a.Return(2).Return(3)
}

// syncCode is the last close(2), which writes pages that are dirty and waits for them.
func syncCode(pages uint64) func(*machine.Assembler) {
	return func(a *machine.Assembler) {
		a.Jump("__x64_sys_close").Call("__fput_sync").Jump("__fput").Call("blkdev_release").Call("bdev_release")
		a.Call("sync_blockdev").Call("filemap_write_and_wait_range").Call("__filemap_fdatawrite_range").Call("filemap_fdatawrite_wbc")
		a.Call("do_writepages").Call("blkdev_writepages").Call("blk_start_plug").Return(1).Call("write_cache_pages")
		for n := range pages {
			a.Call("writeback_iter").Return(1).Call("block_write_full_folio").Call("__block_write_full_folio")
			a.Call("submit_bh_wbc").Call("bio_alloc_bioset").Return(1).Call("guard_bio_eod").Return(1)
			submit(a, int32(n))
			a.Return(1).Call("folio_unlock").Return(3)
		}
		a.Call("writeback_iter").Return(2)
		unplug(a)
		a.Return(4).Call("__filemap_fdatawait_range").Call("folio_wait_writeback")
		awaitFolio(a)
		a.Return(2).Return(5).Return(2)
	}
}

// readDone and writeDone end the bios of a request, and wake the tasks that
// wait for them.
var (
	readDone  = []string{"mpage_read_end_io", "folio_end_read", "folio_wake_bit", "wake_page_function", "try_to_wake_up"}
	writeDone = []string{"end_bio_bh_io_sync", "end_buffer_async_write", "folio_end_writeback", "folio_wake_bit", "wake_page_function", "try_to_wake_up"}
)

// completion handles the interrupt with which a device says that a request is done.
func completion(a *machine.Assembler, ends []string) {
	const off = machine.FlagIRQsOff
	beginIRQ(a)
	a.Trace(machine.EvIRQHandlerEntry, 0)
	a.Call("vring_interrupt").Call("virtblk_done").Call("_raw_spin_lock_irqsave").Return(1).State(off|machine.FlagHardIRQ, 1, 0)
	a.Call("virtqueue_disable_cb").Return(1).Call("virtqueue_get_buf").Jump("virtqueue_get_buf_ctx").Return(2)
	a.Call("blk_mq_complete_request").Call("blk_mq_complete_request_remote").Return(1).Call("virtblk_request_done")
	a.Call("blk_mq_end_request").Call("blk_update_request").Trace(machine.EvBlockRqComplete, 0)
	a.Call("bio_endio")
	for _, name := range ends {
		a.Call(name)
	}
	a.Trace(machine.EvSchedWaking, wakeDisk).Trace(machine.EvSchedWakeup, wakeDisk).Return(len(ends) + 2)
	a.Hide("__blk_mq_end_request").Trace(machine.EvBlockIODone, 0).Call("blk_mq_free_request").Return(2)
	a.Return(3).Call("virtqueue_enable_cb").Return(1).Call("_raw_spin_unlock_irqrestore").Return(1)
	a.State(off|machine.FlagHardIRQ, 0, 0).Return(2).Trace(machine.EvIRQHandlerExit, irqHandled)
	endIRQ(a)
}
