/* Recorded verdicts of tests/data: a case of a policy in each line. */
#pragma once

#include "tests/unit/fixture/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/timestamp.h"
#include "codec/json.h"

/**
 * recorded_replay() - call @replay for each case of a file
 * @place: of the case, for messages
 * @replay: returns the number of nodes of the case
 * Return: the number of nodes of all cases
 */
static inline size_t recorded_replay(const char *path, size_t cases,
                                     size_t (*replay)(json_t *recorded, int64_t now_unix_ms,
                                                      const char *place)) {
        FILE *file = fopen(path, "re");
        char *line = NULL, place[64];
        size_t line_bytes = 0, count = 0, nodes = 0;

        assert_non_null(file);
        for (ssize_t len; (len = getline(&line, &line_bytes, file)) > 0;) {
                json_auto_t *recorded = NULL;
                struct error err = ERROR_NULL;
                int64_t now_unix_ms = 0;
                (void)snprintf(place, sizeof(place), "line %zu", ++count);
                if (json_parse(line, (size_t)len, &recorded, &err) < 0)
                        fail_msg("%s: %s", place, err.msg);
                const char *now = json_string_at(recorded, "now", NULL);
                assert_true(timestamp_parse(now, strlen(now), &now_unix_ms));
                nodes += replay(recorded, now_unix_ms, place);
        }
        free(line);
        (void)fclose(file);
        assert_int_equal(count, cases);
        return nodes;
}
