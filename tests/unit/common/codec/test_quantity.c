/* Amounts as Kubernetes writes them. */
#include "tests/unit/fixture/test.h"

#include "codec/quantity.h"
#include "tests/unit/fixture/rows.h"

static void show(const char *text, size_t len, struct buf *out) {
        double value = 42;

        if (quantity_parse(text, len, &value))
                buf_printf(out, "%.15g", value);
        else
                buf_puts(out, value == 42 ? "-" : "changed");
}

TEST(amounts) {
        rows_check("quantities.tsv", show);
}

TEST(bytes) {
        double value = 42;

        assert_false(quantity_parse("1\0m", 3, &value));
        assert_false(quantity_parse("1\0", 2, &value));
        assert_true(quantity_parse("1m2", 2, &value)); /* no more than it was given */
        assert_true(value == 0.001);
}

TEST(at) {
        json_auto_t *list = json_pack("{s:s, s:s, s:s, s:s, s:i}", "cpu", "250m", "zero", "0",
                                      "debt", "-1", "odd", "1 Gi", "number", 4);
        static const char *const none[] = {"zero", "debt", "odd", "number", "memory"};

        assert_true(quantity_at(list, "cpu") == 0.25);
        for (size_t i = 0; i < ARRAY_LEN(none); i++)
                assert_true(quantity_at(list, none[i]) == 0);
        assert_true(quantity_at(NULL, "cpu") == 0);
}
