/* What annotation_parse() accepts is usable, and what we write of it reads back the same. */
#include <math.h>
#include <string.h>

#include "fuzz.h"
#include "policy/annotation.h"

static void check_round_trip(const struct annotation *first) {
        char text[ANNOTATION_TEXT_MAX], again[ANNOTATION_TEXT_MAX];
        struct annotation second;

        annotation_format_ratio(first->value, first->at_unix_ms, NULL, text);
        require(annotation_parse(text, strlen(text), NULL, &second, NULL) == 0);
        require(fabs(second.value - first->value) <= 0.500001e-5);
        require(second.at_unix_ms <= first->at_unix_ms &&
                second.at_unix_ms > first->at_unix_ms - 1000);
        /* From here on nothing is lost. */
        annotation_format_ratio(second.value, second.at_unix_ms, NULL, again);
        require(strcmp(text, again) == 0);

        int64_t hot = (int64_t)first->value;
        annotation_format_hot(hot, first->at_unix_ms, NULL, text);
        require(annotation_parse(text, strlen(text), NULL, &second, NULL) == 0);
        require(second.value == (double)hot);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        struct annotation annotation = {.value = -1};
        struct error err = ERROR_NULL;
        int r = annotation_parse((const char *)data, size, NULL, &annotation, &err);

        require((r < 0) == (err.msg[0] != '\0') && err.code == r);
        if (r < 0) {
                require(annotation.value == -1); /* untouched */
                return 0;
        }
        require(annotation.value >= 0 && annotation.value <= ANNOTATION_RATIO_MAX);
        require(annotation_expires_unix_ms(annotation.at_unix_ms, 0) ==
                annotation.at_unix_ms + ANNOTATION_GRACE_MS);
        check_round_trip(&annotation);
        return 0;
}
