package ringbuf

import "fmt"

// HeaderPage is the text of events/header_page: how readers of raw pages learn
// the layout of a sub-buffer's header and the size of its data.
//
// Kernel: ring_buffer_print_page_header, kernel/trace/ring_buffer.c.
func HeaderPage(subbufSize int) string {
	return "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n" +
		"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n" +
		"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n" +
		fmt.Sprintf("\tfield: char data;\toffset:%d;\tsize:%d;\tsigned:0;\n",
			PageHeaderSize, subbufSize-PageHeaderSize)
}

// HeaderEvent is the text of events/header_event: the layout of event headers.
//
// Kernel: ring_buffer_print_entry_header, kernel/trace/ring_buffer.c.
func HeaderEvent() string {
	return "# compressed entry header\n" +
		"\ttype_len    :    5 bits\n" +
		fmt.Sprintf("\ttime_delta  :   %d bits\n", deltaBits) +
		"\tarray       :   32 bits\n\n" +
		fmt.Sprintf("\tpadding     : type == %d\n", TypePadding) +
		fmt.Sprintf("\ttime_extend : type == %d\n", TypeTimeExtend) +
		fmt.Sprintf("\ttime_stamp : type == %d\n", TypeTimeStamp) +
		fmt.Sprintf("\tdata max type_len  == %d\n", TypeDataMax)
}
