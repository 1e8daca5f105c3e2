/* JSON written value by value: commas, keys, lines, and values that JSON lacks. */
#include "tests/unit/fixture/test.h"

#include <math.h>

#include "base/json_write.h"

TEST(document) {
        _cleanup_(buf_done) struct buf out = BUF_INIT(1000);

        json_write_object(&out, NULL);
        json_write_text(&out, "text", "a\"b\n");
        json_write_text(&out, "missing", NULL);
        json_write_text_len(&out, "part", "abc", 2);
        json_write_text_len(&out, "", NULL, 0);
        json_write_array(&out, "of\\all");
        json_write_int(&out, NULL, INT64_MIN);
        json_write_number(&out, NULL, 0.1, 15);
        json_write_number(&out, NULL, 1234567, 3);
        json_write_number(&out, NULL, NAN, 15);
        json_write_number(&out, NULL, -INFINITY, 15);
        json_write_bool(&out, NULL, true);
        json_write_bool(&out, NULL, false);
        json_write_seconds(&out, NULL, 12345);
        json_write_time(&out, NULL, 1700000000123);
        json_write_time(&out, NULL, 0);
        json_write_array(&out, NULL);
        json_write_array_end(&out);
        json_write_object(&out, NULL);
        json_write_object_end(&out);
        json_write_array_end(&out);
        json_write_json(&out, "json", "{\"x\":1}");
        json_write_null(&out, "null");
        json_write_object_end(&out);
        assert_string_equal(out.data,
                            "{\"text\":\"a\\\"b\\n\",\"missing\":null,\"part\":\"ab\",\"\":\"\","
                            "\"of\\\\all\":[-9223372036854775808,0.1,1.23e+06,null,null,true,"
                            "false,12.345,\"2023-11-14T22:13:20.123Z\",null,[],{}],"
                            "\"json\":{\"x\":1},\"null\":null}");
}

TEST(lines) {
        _cleanup_(buf_done) struct buf out = BUF_INIT(1000);

        json_write_array(&out, NULL);
        for (int i = 0; i < 2; i++) {
                json_write_line(&out);
                json_write_int(&out, NULL, i);
        }
        json_write_array_end(&out);
        json_write_line(&out);
        json_write_object(&out, NULL);
        json_write_line(&out);
        json_write_bool(&out, "a", true);
        json_write_line(&out);
        json_write_key(&out, "b");
        buf_puts(&out, "7");
        json_write_object_end(&out);
        assert_string_equal(out.data, "[\n0,\n1],\n{\n\"a\":true,\n\"b\":7}");
}

TEST(ceiling) {
        _cleanup_(buf_done) struct buf out = BUF_INIT(8);
        _cleanup_(buf_done) struct buf nothing = BUF_INIT(0);

        json_write_array(&out, NULL);
        json_write_text(&out, NULL, "too long for it");
        json_write_array_end(&out);
        assert_true(out.overflow);
        assert_string_equal(out.data, "[]");
        json_write_line(&nothing);
        json_write_null(&nothing, NULL);
        assert_true(nothing.overflow);
}
