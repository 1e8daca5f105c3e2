#include "controller/print/printout.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PRINTOUT_MAX_BYTES = 256 << 20 };

void printout_begin(struct printout *printout, const struct compiled_policy *compiled,
                    enum report_format format, size_t node_width, bool is_repeated) {
        const char *no_color = getenv("NO_COLOR");

        *printout = (struct printout){
                .compiled = compiled,
                .format = format,
                .node_width = node_width,
                .is_repeated = is_repeated,
                .is_terminal = isatty(STDOUT_FILENO) == 1,
                .out = BUF_INIT(PRINTOUT_MAX_BYTES),
        };
        printout->is_colored = printout->is_terminal && !(no_color && *no_color);
        if (format != REPORT_TABLE)
                return;
        if (printout->is_terminal && is_repeated)
                buf_puts(&printout->out, "\033[H\033[J");
        report_header(compiled, node_width, printout->is_colored, &printout->out);
}

void printout_row(struct printout *printout, const struct report_row *row, int64_t now_mono_ms,
                  int64_t now_unix_ms) {
        if (printout->format == REPORT_TABLE)
                report_table_row(printout->compiled, row, printout->node_width,
                                 printout->is_colored, now_mono_ms, &printout->out);
        else
                report_json_row(printout->compiled, row, now_mono_ms, now_unix_ms, &printout->out);
}

bool printout_end(struct printout *printout) {
        if (printout->format == REPORT_TABLE && printout->is_repeated && !printout->is_terminal)
                buf_putc(&printout->out, '\n');
        if (printout->out.len > 0)
                (void)fwrite(printout->out.data, 1, printout->out.len, stdout);
        buf_done(&printout->out);
        return fflush(stdout) == 0 && !ferror(stdout);
}
