#include "controller/print/printout.h"

enum { PRINTOUT_MAX_BYTES = 256 << 20 };

void printout_begin(struct printout *printout, const struct compiled_policy *compiled,
                    enum report_format format, bool is_repeated) {
        *printout = (struct printout){
                .compiled = compiled,
                .is_repeated = is_repeated,
                .style = style_of(stdout),
                .lines = BUF_INIT(PRINTOUT_MAX_BYTES),
        };
        if (format == REPORT_TABLE)
                printout->table = report_table_new(compiled, &printout->style);
}

void printout_row(struct printout *printout, const struct report_row *row, int64_t now_mono_ms,
                  int64_t now_unix_ms) {
        if (printout->table)
                report_table_row(printout->compiled, row, &printout->style, now_mono_ms,
                                 printout->table);
        else
                report_json_row(printout->compiled, row, now_mono_ms, now_unix_ms,
                                &printout->lines);
}

static void printout_print_table(const struct printout *printout) {
        bool is_screen = printout->is_repeated && printout->style.is_terminal;

        (void)fputs(is_screen ? "\033[H\033[J" : "", stdout);
        (void)table_print(printout->table, SIZE_MAX, stdout);
        (void)fputs(printout->is_repeated && !is_screen ? "\n" : "", stdout);
}

bool printout_end(struct printout *printout) {
        if (printout->table)
                printout_print_table(printout);
        else if (printout->lines.len > 0)
                (void)fwrite(printout->lines.data, 1, printout->lines.len, stdout);
        table_free(printout->table);
        buf_done(&printout->lines);
        return fflush(stdout) == 0 && !ferror(stdout);
}
