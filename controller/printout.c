#include "controller/printout.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { PRINTOUT_MAX_BYTES = 256 << 20 };

void printout_begin(struct printout *printout, const struct rules *rules, enum report_format format,
                    size_t node_width, bool is_repeated) {
        const char *no_color = getenv("NO_COLOR");

        *printout = (struct printout){
                .rules = rules,
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
        report_header(rules, node_width, printout->is_colored, &printout->out);
}

void printout_row(struct printout *printout, const struct report_row *row, int64_t now_mono_ms,
                  int64_t now_unix_ms) {
        if (printout->format == REPORT_TABLE)
                report_table_row(printout->rules, row, printout->node_width, printout->is_colored,
                                 now_mono_ms, &printout->out);
        else
                report_json_row(printout->rules, row, now_mono_ms, now_unix_ms, &printout->out);
}

static bool write_out(const struct buf *out) {
        size_t done = 0;

        while (done < out->len) {
                ssize_t n = write(STDOUT_FILENO, out->data + done, out->len - done);
                if (n < 0 && errno != EINTR && errno != EAGAIN)
                        return false;
                if (n > 0)
                        done += (size_t)n;
        }
        return true;
}

bool printout_end(struct printout *printout) {
        if (printout->format == REPORT_TABLE && printout->is_repeated && !printout->is_terminal)
                buf_putc(&printout->out, '\n');
        bool is_written = write_out(&printout->out);
        buf_done(&printout->out);
        return is_written;
}
