/*
 * The skim of the exposition format. Whatever the bytes: slices lie within the page, the samples of
 * a cut page begin the samples of the whole one, and numbers are those of strtod().
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "controller/exposition/exposition.h"
#include "fuzz.h"

static const char *const names[] = {
        "node_cpu_seconds_total",
        "node_load1",
        "node_load15",
        "node_memory_MemTotal_bytes",
};

static void check_slice(const char *slice, size_t len, const char *page, size_t page_bytes) {
        require(slice >= page && slice + len <= page + page_bytes);
}

static void check_sample(const struct exposition_sample *sample, const char *page,
                         size_t page_bytes) {
        char text[64];

        require(sample->family < ARRAY_LEN(names) && sample->label_count <= EXPOSITION_MAX_LABELS);
        for (size_t i = 0; i < sample->label_count; i++) {
                const struct exposition_label *label = &sample->labels[i];
                check_slice(label->name, label->name_len, page, page_bytes);
                check_slice(label->value, label->value_len, page, page_bytes);
                require(!exposition_label_value(label, text, sizeof(text)) ||
                        exposition_label_is(label, text));
        }
}

/* Two skims in step: of the whole page, and of a copy cut at @cut. */
static void check_cut(const struct exposition_set *set, const char *page, size_t page_bytes,
                      size_t cut) {
        _cleanup_(freep) char *copy = xmalloc(cut);
        struct exposition whole, part;
        struct exposition_sample expected, sample;

        if (cut > 0)
                memcpy(copy, page, cut);
        exposition_begin(&whole, set, page, page_bytes, true);
        exposition_begin(&part, set, copy, cut, false);
        while (exposition_next(&part, &sample)) {
                check_sample(&sample, copy, cut);
                require(exposition_next(&whole, &expected) && sample.family == expected.family &&
                        sample.label_count == expected.label_count &&
                        (sample.value == expected.value ||
                         (isnan(sample.value) && isnan(expected.value))));
        }
        while (exposition_next(&whole, &expected))
                ;
        require(part.malformed <= whole.malformed);
}

static void check_number(const char *text, size_t len) {
        double value = 0;

        if (!exposition_number(text, len, &value) || isnan(value))
                return;
        _cleanup_(freep) char *copy = xmemdup0(text, len);
        double expected = strtod(copy, NULL);
        require(memcmp(&value, &expected, sizeof(value)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        const char *page = (const char *)data;
        struct exposition_set set;
        struct exposition skim;
        struct exposition_sample sample;

        exposition_set_init(&set, names, ARRAY_LEN(names));
        exposition_begin(&skim, &set, page, size, true);
        while (exposition_next(&skim, &sample))
                check_sample(&sample, page, size);
        check_cut(&set, page, size, size);
        if (size > 0) {
                check_cut(&set, page, size, size - 1);
                check_cut(&set, page, size, (size_t)data[size / 2] * size / 256);
        }
        check_number(page, size_min(size, 300));
        return 0;
}
