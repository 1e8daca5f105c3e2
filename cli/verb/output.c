#include "cli/verb/output.h"

#include "codec/yaml_write.h"

/* In the order of enum output_format. */
const char *const output_formats[] = {"table", "wide", "json", "yaml", NULL};

void output_document(json_t *root, int format, FILE *out) {
        if (format == OUTPUT_YAML || !root) {
                yaml_write(root, out);
        } else {
                (void)json_dumpf(root, out, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
                (void)fputc('\n', out);
        }
        json_decref(root);
}
