/* Where a pod is, what it prefers by admission, and why no extender was asked about it. */
#include "tests/unit/fixture/test.h"

#include "base/mem.h"
#include "cli/explain/explain_place.h"
#include "codec/json.h"
#include "tests/unit/fixture/rows.h"

static struct explain_place place_of(const char *text) {
        struct explain_place place = {.full_name = "s/p", .pod = json_loads(text, 0, NULL)};

        assert_non_null(place.pod);
        return place;
}

static void show_preferred(const char *text, size_t len, struct buf *out) {
        const struct style style = {.bold = "", .yellow = "", .off = ""};
        const struct explain_place place = place_of(text);
        _cleanup_(freep) char *said = NULL;
        size_t said_bytes = 0;
        FILE *file = open_memstream(&said, &said_bytes);

        explain_place_print(&place, &style, file);
        assert_int_equal(fclose(file), 0);
        buf_puts(out, said);
        json_decref(place.pod);
}

TEST(preferred) {
        rows_check("preferred-places.tsv", show_preferred);
}

static void show_unasked(const char *text, size_t len, struct buf *out) {
        const struct explain_place place = place_of(text);
        _cleanup_(freep) char *why = explain_place_unasked(&place);

        buf_puts(out, why);
        json_decref(place.pod);
}

TEST(unasked) {
        rows_check("unasked-pods.tsv", show_unasked);
}
