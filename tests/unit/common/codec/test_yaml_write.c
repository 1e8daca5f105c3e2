/* JSON values as YAML documents. */
#include "tests/unit/fixture/test.h"

#include "base/mem.h"
#include "codec/json.h"
#include "codec/yaml_write.h"
#include "tests/unit/fixture/rows.h"

static void show(const char *text, size_t len, struct buf *out) {
        _cleanup_(freep) char *written = NULL;
        json_auto_t *root = NULL;
        size_t written_bytes;
        FILE *file = open_memstream(&written, &written_bytes);

        assert_int_equal(json_parse(text, len, &root, NULL), 0);
        yaml_write(root, file);
        assert_int_equal(fclose(file), 0);
        buf_puts(out, written);
}

TEST(yaml) {
        rows_check("json-as-yaml.tsv", show);
}
