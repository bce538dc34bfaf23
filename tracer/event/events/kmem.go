package events

import "ftracelab/tracer/event"

// kmemTypes are the events of the system kmem.
//
// Kernel: include/trace/events/kmem.h.
func kmemTypes() []*event.Type {
	return []*event.Type{
		RssStat.Type,
		MmAllocContigMigrateRangeInfo.Type,
		MmPageAllocExtfrag.Type,
		MmPagePcpuDrain.Type,
		MmPageAllocZoneLocked.Type,
		MmPageAlloc.Type,
		MmPageFreeBatched.Type,
		MmPageFree.Type,
		KmemCacheFree.Type,
		Kfree.Type,
		Kmalloc.Type,
		KmemCacheAlloc.Type,
	}
}

// RssStatRecord is the record of rss_stat.
type RssStatRecord struct {
	MmID   uint32 `c:"unsigned int mm_id"`
	Curr   uint32 `c:"unsigned int curr"`
	Member int32  `c:"int member"`
	Size   int64  `c:"long size"`
}

// RssStat is kmem:rss_stat.
var RssStat = event.Define[RssStatRecord](616, "kmem", "rss_stat",
	`"mm_id=%u curr=%d type=%s size=%ldB", REC->mm_id, REC->curr, __print_symbolic(REC->member, { 0, "MM_FILEPAGES" }, { 1, "MM_ANONPAGES" }, { 2, "MM_SWAPENTS" }, { 3, "MM_SHMEMPAGES" }), REC->size`)

// MmAllocContigMigrateRangeInfoRecord is the record of
// mm_alloc_contig_migrate_range_info.
type MmAllocContigMigrateRangeInfoRecord struct {
	Start       uint64 `c:"unsigned long start"`
	End         uint64 `c:"unsigned long end"`
	NrMigrated  uint64 `c:"unsigned long nr_migrated"`
	NrReclaimed uint64 `c:"unsigned long nr_reclaimed"`
	NrMapped    uint64 `c:"unsigned long nr_mapped"`
	Migratetype int32  `c:"int migratetype"`
}

// MmAllocContigMigrateRangeInfo is kmem:mm_alloc_contig_migrate_range_info.
var MmAllocContigMigrateRangeInfo = event.Define[MmAllocContigMigrateRangeInfoRecord](617, "kmem", "mm_alloc_contig_migrate_range_info",
	`"start=0x%lx end=0x%lx migratetype=%d nr_migrated=%lu nr_reclaimed=%lu nr_mapped=%lu", REC->start, REC->end, REC->migratetype, REC->nr_migrated, REC->nr_reclaimed, REC->nr_mapped`)

// MmPageAllocExtfragRecord is the record of mm_page_alloc_extfrag.
type MmPageAllocExtfragRecord struct {
	PFN                 uint64 `c:"unsigned long pfn"`
	AllocOrder          int32  `c:"int alloc_order"`
	FallbackOrder       int32  `c:"int fallback_order"`
	AllocMigratetype    int32  `c:"int alloc_migratetype"`
	FallbackMigratetype int32  `c:"int fallback_migratetype"`
	ChangeOwnership     int32  `c:"int change_ownership"`
}

// MmPageAllocExtfrag is kmem:mm_page_alloc_extfrag.
var MmPageAllocExtfrag = event.Define[MmPageAllocExtfragRecord](618, "kmem", "mm_page_alloc_extfrag",
	`"page=%p pfn=0x%lx alloc_order=%d fallback_order=%d pageblock_order=%d alloc_migratetype=%d fallback_migratetype=%d fragmenting=%d change_ownership=%d", (((struct page *)vmemmap_base) + (REC->pfn)), REC->pfn, REC->alloc_order, REC->fallback_order, (((unsigned int)((21 - 12))) < ((unsigned int)(10)) ? ((unsigned int)((21 - 12))) : ((unsigned int)(10))), REC->alloc_migratetype, REC->fallback_migratetype, REC->fallback_order < (((unsigned int)((21 - 12))) < ((unsigned int)(10)) ? ((unsigned int)((21 - 12))) : ((unsigned int)(10))), REC->change_ownership`)

// MmPagePcpuDrainRecord is the record of mm_page_pcpu_drain.
type MmPagePcpuDrainRecord struct {
	PFN         uint64 `c:"unsigned long pfn"`
	Order       uint32 `c:"unsigned int order"`
	Migratetype int32  `c:"int migratetype"`
}

// MmPagePcpuDrain is kmem:mm_page_pcpu_drain.
var MmPagePcpuDrain = event.Define[MmPagePcpuDrainRecord](619, "kmem", "mm_page_pcpu_drain",
	`"page=%p pfn=0x%lx order=%d migratetype=%d", (((struct page *)vmemmap_base) + (REC->pfn)), REC->pfn, REC->order, REC->migratetype`)

// MmPageAllocZoneLockedRecord is the record of mm_page_alloc_zone_locked.
type MmPageAllocZoneLockedRecord struct {
	PFN          uint64 `c:"unsigned long pfn"`
	Order        uint32 `c:"unsigned int order"`
	Migratetype  int32  `c:"int migratetype"`
	PercpuRefill int32  `c:"int percpu_refill"`
}

// MmPageAllocZoneLocked is kmem:mm_page_alloc_zone_locked.
var MmPageAllocZoneLocked = event.Define[MmPageAllocZoneLockedRecord](620, "kmem", "mm_page_alloc_zone_locked",
	`"page=%p pfn=0x%lx order=%u migratetype=%d percpu_refill=%d", REC->pfn != -1UL ? (((struct page *)vmemmap_base) + (REC->pfn)) : ((void *)0), REC->pfn != -1UL ? REC->pfn : 0, REC->order, REC->migratetype, REC->percpu_refill`)

// MmPageAllocRecord is the record of mm_page_alloc.
type MmPageAllocRecord struct {
	PFN         uint64 `c:"unsigned long pfn"`
	Order       uint32 `c:"unsigned int order"`
	GFPFlags    uint64 `c:"unsigned long gfp_flags"`
	Migratetype int32  `c:"int migratetype"`
}

// MmPageAlloc is kmem:mm_page_alloc.
var MmPageAlloc = event.Define[MmPageAllocRecord](621, "kmem", "mm_page_alloc",
	`"page=%p pfn=0x%lx order=%d migratetype=%d gfp_flags=%s", REC->pfn != -1UL ? (((struct page *)vmemmap_base) + (REC->pfn)) : ((void *)0), REC->pfn != -1UL ? REC->pfn : 0, REC->order, REC->migratetype, `+GFPFlags)

// MmPageFreeBatchedRecord is the record of mm_page_free_batched.
type MmPageFreeBatchedRecord struct {
	PFN uint64 `c:"unsigned long pfn"`
}

// MmPageFreeBatched is kmem:mm_page_free_batched.
var MmPageFreeBatched = event.Define[MmPageFreeBatchedRecord](622, "kmem", "mm_page_free_batched",
	`"page=%p pfn=0x%lx order=0", (((struct page *)vmemmap_base) + (REC->pfn)), REC->pfn`)

// MmPageFreeRecord is the record of mm_page_free.
type MmPageFreeRecord struct {
	PFN   uint64 `c:"unsigned long pfn"`
	Order uint32 `c:"unsigned int order"`
}

// MmPageFree is kmem:mm_page_free.
var MmPageFree = event.Define[MmPageFreeRecord](623, "kmem", "mm_page_free",
	`"page=%p pfn=0x%lx order=%d", (((struct page *)vmemmap_base) + (REC->pfn)), REC->pfn, REC->order`)

// KmemCacheFreeRecord is the record of kmem_cache_free.
type KmemCacheFreeRecord struct {
	CallSite uint64 `c:"unsigned long call_site"`
	Ptr      uint64 `c:"const void * ptr"`
	Name     string `c:"__data_loc char[] name"`
}

// KmemCacheFree is kmem:kmem_cache_free.
var KmemCacheFree = event.Define[KmemCacheFreeRecord](624, "kmem", "kmem_cache_free",
	`"call_site=%pS ptr=%p name=%s", (void *)REC->call_site, REC->ptr, __get_str(name)`)

// KfreeRecord is the record of kfree.
type KfreeRecord struct {
	CallSite uint64 `c:"unsigned long call_site"`
	Ptr      uint64 `c:"const void * ptr"`
}

// Kfree is kmem:kfree.
var Kfree = event.Define[KfreeRecord](625, "kmem", "kfree",
	`"call_site=%pS ptr=%p", (void *)REC->call_site, REC->ptr`)

// KmallocRecord is the record of kmalloc.
type KmallocRecord struct {
	CallSite   uint64 `c:"unsigned long call_site"`
	Ptr        uint64 `c:"const void * ptr"`
	BytesReq   uint64 `c:"size_t bytes_req"`
	BytesAlloc uint64 `c:"size_t bytes_alloc"`
	GFPFlags   uint64 `c:"unsigned long gfp_flags"`
	Node       int32  `c:"int node"`
}

// Kmalloc is kmem:kmalloc.
var Kmalloc = event.Define[KmallocRecord](626, "kmem", "kmalloc",
	`"call_site=%pS ptr=%p bytes_req=%zu bytes_alloc=%zu gfp_flags=%s node=%d accounted=%s", (void *)REC->call_site, REC->ptr, REC->bytes_req, REC->bytes_alloc, `+GFPFlags+`, REC->node, (1 && (REC->gfp_flags & ( unsigned long)(( gfp_t)((((1UL))) << (22))))) ? "true" : "false"`)

// KmemCacheAllocRecord is the record of kmem_cache_alloc.
type KmemCacheAllocRecord struct {
	CallSite   uint64 `c:"unsigned long call_site"`
	Ptr        uint64 `c:"const void * ptr"`
	BytesReq   uint64 `c:"size_t bytes_req"`
	BytesAlloc uint64 `c:"size_t bytes_alloc"`
	GFPFlags   uint64 `c:"unsigned long gfp_flags"`
	Node       int32  `c:"int node"`
	Accounted  bool   `c:"bool accounted"`
}

// KmemCacheAlloc is kmem:kmem_cache_alloc.
var KmemCacheAlloc = event.Define[KmemCacheAllocRecord](627, "kmem", "kmem_cache_alloc",
	`"call_site=%pS ptr=%p bytes_req=%zu bytes_alloc=%zu gfp_flags=%s node=%d accounted=%s", (void *)REC->call_site, REC->ptr, REC->bytes_req, REC->bytes_alloc, `+GFPFlags+`, REC->node, REC->accounted ? "true" : "false"`)

// GFPFlags is how the events of kmem print gfp_flags: the combinations first,
// then single flags, each as the preprocessor leaves it.
//
// Kernel: show_gfp_flags, include/trace/events/mmflags.h.
const GFPFlags = `(REC->gfp_flags) ? __print_flags(REC->gfp_flags, "|", ` +
	`{( unsigned long)(((((((( gfp_t)(((((1UL))) << (10))|((((1UL))) << (11)))) | (( gfp_t)((((1UL))) << (6))) | (( gfp_t)((((1UL))) << (7))) | (( gfp_t)((((1UL))) << (20)))) | (( gfp_t)((((1UL))) << (1)))) | (( gfp_t)((((1UL))) << (3))) | (( gfp_t)0)) | (( gfp_t)((((1UL))) << (18))) | (( gfp_t)((((1UL))) << (19))) | (( gfp_t)((((1UL))) << (13)))) & ~(( gfp_t)(((((1UL))) << (10))|((((1UL))) << (11))))) | (( gfp_t)((((1UL))) << (10)))), "GFP_TRANSHUGE"}, ` +
	`{( unsigned long)((((((( gfp_t)(((((1UL))) << (10))|((((1UL))) << (11)))) | (( gfp_t)((((1UL))) << (6))) | (( gfp_t)((((1UL))) << (7))) | (( gfp_t)((((1UL))) << (20)))) | (( gfp_t)((((1UL))) << (1)))) | (( gfp_t)((((1UL))) << (3))) | (( gfp_t)0)) | (( gfp_t)((((1UL))) << (18))) | (( gfp_t)((((1UL))) << (19))) | (( gfp_t)((((1UL))) << (13)))) & ~(( gfp_t)(((((1UL))) << (10))|((((1UL))) << (11))))), "GFP_TRANSHUGE_LIGHT"}, ` +
	`{( unsigned long)((((( gfp_t)(((((1UL))) << (10))|((((1UL))) << (11)))) | (( gfp_t)((((1UL))) << (6))) | (( gfp_t)((((1UL))) << (7))) | (( gfp_t)((((1UL))) << (20)))) | (( gfp_t)((((1UL))) << (1)))) | (( gfp_t)((((1UL))) << (3))) | (( gfp_t)0)), "GFP_HIGHUSER_MOVABLE"}, ` +
	`{( unsigned long)(((( gfp_t)(((((1UL))) << (10))|((((1UL))) << (11)))) | (( gfp_t)((((1UL))) << (6))) | (( gfp_t)((((1UL))) << (7))) | (( gfp_t)((((1UL))) << (20)))) | (( gfp_t)((((1UL))) << (1)))), "GFP_HIGHUSER"}, ` +
	`{( unsigned long)((( gfp_t)(((((1UL))) << (10))|((((1UL))) << (11)))) | (( gfp_t)((((1UL))) << (6))) | (( gfp_t)((((1UL))) << (7))) | (( gfp_t)((((1UL))) << (20)))), "GFP_USER"}, ` +
	`{( unsigned long)(((( gfp_t)(((((1UL))) << (10))|((((1UL))) << (11)))) | (( gfp_t)((((1UL))) << (6))) | (( gfp_t)((((1UL))) << (7)))) | (( gfp_t)((((1UL))) << (22)))), "GFP_KERNEL_ACCOUNT"}, ` +
	`{( unsigned long)((( gfp_t)(((((1UL))) << (10))|((((1UL))) << (11)))) | (( gfp_t)((((1UL))) << (6))) | (( gfp_t)((((1UL))) << (7)))), "GFP_KERNEL"}, ` +
	`{( unsigned long)((( gfp_t)(((((1UL))) << (10))|((((1UL))) << (11)))) | (( gfp_t)((((1UL))) << (6)))), "GFP_NOFS"}, ` +
	`{( unsigned long)((( gfp_t)((((1UL))) << (5)))|(( gfp_t)((((1UL))) << (11)))), "GFP_ATOMIC"}, ` +
	`{( unsigned long)((( gfp_t)(((((1UL))) << (10))|((((1UL))) << (11))))), "GFP_NOIO"}, ` +
	`{( unsigned long)((( gfp_t)((((1UL))) << (11))) | (( gfp_t)((((1UL))) << (13)))), "GFP_NOWAIT"}, ` +
	`{( unsigned long)(( gfp_t)((((1UL))) << (0))), "GFP_DMA"}, ` +
	`{( unsigned long)(( gfp_t)((((1UL))) << (1))), "__GFP_HIGHMEM"}, ` +
	`{( unsigned long)(( gfp_t)((((1UL))) << (2))), "GFP_DMA32"}, ` +
	`{( unsigned long)(( gfp_t)((((1UL))) << (5))), "__GFP_HIGH"}, ` +
	`{( unsigned long)(( gfp_t)((((1UL))) << (6))), "__GFP_IO"}, ` +
	`{( unsigned long)(( gfp_t)((((1UL))) << (7))), "__GFP_FS"}, ` +
	`{( unsigned long)(( gfp_t)((((1UL))) << (13))), "__GFP_NOWARN"}, ` +
	`{( unsigned long)(( gfp_t)((((1UL))) << (14))), "__GFP_RETRY_MAYFAIL"}, ` +
	`{( unsigned long)(( gfp_t)((((1UL))) << (15))), "__GFP_NOFAIL"}, ` +
	`{( unsigned long)(( gfp_t)((((1UL))) << (16))), "__GFP_NORETRY"}, ` +
	`{( unsigned long)(( gfp_t)((((1UL))) << (18))), "__GFP_COMP"}, ` +
	`{( unsigned long)(( gfp_t)((((1UL))) << (8))), "__GFP_ZERO"}, ` +
	`{( unsigned long)(( gfp_t)((((1UL))) << (19))), "__GFP_NOMEMALLOC"}, ` +
	`{( unsigned long)(( gfp_t)((((1UL))) << (17))), "__GFP_MEMALLOC"}, ` +
	`{( unsigned long)(( gfp_t)((((1UL))) << (20))), "__GFP_HARDWALL"}, ` +
	`{( unsigned long)(( gfp_t)((((1UL))) << (21))), "__GFP_THISNODE"}, ` +
	`{( unsigned long)(( gfp_t)((((1UL))) << (4))), "__GFP_RECLAIMABLE"}, ` +
	`{( unsigned long)(( gfp_t)((((1UL))) << (3))), "__GFP_MOVABLE"}, ` +
	`{( unsigned long)(( gfp_t)((((1UL))) << (22))), "__GFP_ACCOUNT"}, ` +
	`{( unsigned long)(( gfp_t)((((1UL))) << (12))), "__GFP_WRITE"}, ` +
	`{( unsigned long)(( gfp_t)(((((1UL))) << (10))|((((1UL))) << (11)))), "__GFP_RECLAIM"}, ` +
	`{( unsigned long)(( gfp_t)((((1UL))) << (10))), "__GFP_DIRECT_RECLAIM"}, ` +
	`{( unsigned long)(( gfp_t)((((1UL))) << (11))), "__GFP_KSWAPD_RECLAIM"}, ` +
	`{( unsigned long)(( gfp_t)((((1UL))) << (23))), "__GFP_ZEROTAGS"} ) : "none"`
