/* Amounts as Kubernetes writes them; the rows were tried with apimachinery's own parser. */
#include "tests/unit/fixture/test.h"

#include <math.h>

#include "codec/quantity.h"

TEST(amounts) {
        static const struct {
                const char *text;
                double value;
        } rows[] = {
                {"0", 0},
                {"8", 8},
                {"+1", 1},
                {"-1", -1},
                {"1.", 1},
                {".5", 0.5},
                {"250m", 0.25},
                {"000.500m", 0.0005},
                {"1n", 1e-9},
                {"134876214n", 0.134876214}, /* as metrics-server writes CPU */
                {"7u", 7e-6},
                {"2k", 2e3},
                {"2M", 2e6},
                {"2G", 2e9},
                {"2T", 2e12},
                {"2P", 2e15},
                {"2E", 2e18},
                {"1Ki", 1024},
                {"32931948Ki", 32931948.0 * 1024},
                {"5.Ki", 5120},
                {"1.5Gi", 1610612736},
                {"1Mi", 1048576},
                {"1Ti", 0x1p40},
                {"1Pi", 0x1p50},
                {"7Ei", 7 * 0x1p60},
                {"1e3", 1000},
                {"1E3", 1000},
                {"1E+3", 1000},
                {"1.e-3", 0.001},
                {"1E", 1e18}, /* no exponent: exa */
                {"0e400", 0},
                {"1e-400", 0},
                /* past what there is */
                {"10Ei", QUANTITY_MAX},
                {"-10Ei", -QUANTITY_MAX},
                {"1e30", QUANTITY_MAX},
                {"12345678901234567890", QUANTITY_MAX},
                {"1e400", QUANTITY_MAX},
                {"-1E400", -QUANTITY_MAX},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                double value = 42;
                bool ok = quantity_parse(rows[i].text, strlen(rows[i].text), &value);
                if (!ok || fabs(value - rows[i].value) > 1e-15 * fabs(rows[i].value))
                        fail_msg("'%s' gave %d, %.17g", rows[i].text, ok, value);
        }
}

TEST(none) {
        static const char *const rows[] = {
                "",    " ",    "1 ",   " 1",    "m",    "Ki",    "+",    ".",   ".Ki",
                "-m",  "K",    "1K",   "1ki",   "1Kib", "1i",    "1mi",  "1kk", "1B",
                "1e",  "1e+",  "1e3k", "1e1.5", "1E2E", "1.2.3", "--1",  "+-1", "1e++3",
                "1_0", "0x10", "nan",  "inf",   "1,5",  "1 Ki",  "1-2m",
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                double value = 42;
                if (quantity_parse(rows[i], strlen(rows[i]), &value) || value != 42)
                        fail_msg("'%s' gave %g", rows[i], value);
        }
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
