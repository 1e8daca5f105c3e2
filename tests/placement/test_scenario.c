/* What stands in a stream of a scenario file, and what cannot be. */
#include "paper_world.h"

#define STEADY "kind: steady\nworkloads: 2\nlife: {mean: 1h}\nusage: {share: 1}\n"

TEST(defaults) {
        const struct scenario scenario = paper_scenario(1, 1,
                                                        STEADY "requests: [1]\nrequested: 0.5\n");
        const struct stream *stream = &scenario.streams[0];

        assert_int_equal(stream->owner, STREAM_OF_REPLICA_SETS);
        assert_true(stream->noise_sigma == 0.2 && stream->memory_ratio == 0.8);
        assert_int_equal(stream->noise_every_s, 120);
        assert_int_equal(stream->start_from_s, 2);
        assert_int_equal(stream->start_to_s, 8);
        assert_int_equal(stream->hours_to_s, 0);
}

TEST(wrong_streams_have_their_line) {
        static const struct {
                const char *text, *said;
        } rows[] = {
                {STEADY "requests: [1]\n", "line 1: requested: expected a share"},
                {STEADY "requests: [1]\nrequested: 0.5\ncount: 5\n", "line 6: requested: "},
                {STEADY "requested: 0.5\nrequests: [1, 0]\n",
                 "line 5: requested: expected a count"},
                {STEADY "count: 5\nrequests: [0]\n", "line 4: usage: expected fromCores"},
                {STEADY "requests: [-1]\nrequested: 0.5\n", "line 5: requests: "},
                {STEADY "requests: [1]\nrequested: 0.5\nstart: {from: 9s}\n", "line 7: start: "},
                {STEADY "requests: [1]\nrequested: 0.5\nnoise: {every: 0s}\n", "line 7: noise: "},
                {STEADY "requests: [1]\nrequested: 0.5\nhours: {from: 12h}\n", "line 7: hours: "},
                {STEADY "requests: [1]\nrequested: 0.5\nhours: {from: 1h, to: 25h}\n",
                 "line 7: hours: "},
                {STEADY "requests: [1]\nrequested: 0.5\nrelease: {at: 1h}\n", "line 7: release: "},
                {STEADY "requests: [1]\nrequested: 0.5\ngrowth: {share: 0.1, factor: 8}\n",
                 "line 7: growth: "},
                {STEADY "requests: [1]\nrequested: 0.5\nburst: {pods: 5}\n", "line 7: burst: "},
                {STEADY "requests: [1]\nrequested: 0.5\nowner: cronJob\n", "line 7: owner: "},
                {"kind: steady\nworkloads: 1.5\n", "line 2: workloads: expected a whole number"},
                {STEADY "requests: [1]\nrequested: 0.5\nmemory: {grownEvery: 1.5}\n",
                 "line 7: grownEvery: expected a whole number"},
                {"kind: steady\nusage: {hotEvery: 0.5}\n",
                 "line 2: hotEvery: expected a whole number"},
                {"kind: steady\nworkloads: 1\nlife: {mean: 1h}\nrequested: 1\nrequests: [1]\n"
                 "usage: {share: 1, pareto: 1}\n",
                 "line 6: usage: expected pareto > 1"},
                {"kind: scaled\nworkloads: 1\nlife: {mean: 1h}\nrequests: [0]\ncount: 5\n"
                 "usage: {fromCores: 1, toCores: 2}\n",
                 "line 4: requests: expected above 0"},
                {"kind: scaled\nworkloads: 1\nlife: {mean: 1h}\nrequests: [1]\ncount: 5\n"
                 "usage: {share: 1, perPod: true}\n",
                 "line 6: usage: expected a workload's own"},
                {"kind: scaled\nworkloads: 1\nlife: {mean: 1h}\nrequests: [1]\ncount: 5\n"
                 "usage: {share: 1}\nrelease: {factor: 2}\n",
                 "line 7: release: "},
                {"kind: jobs\nworkloads: 1\nlife: {mean: 1h}\nrequests: [1]\nusage: {share: 1}\n"
                 "jobs: {every: 1m, toCores: 5}\n",
                 "line 6: jobs: expected podsPerSecond or gang"},
                {"kind: jobs\nworkloads: 1\nlife: {from: 2h, to: 1h}\nrequests: [1]\n",
                 "line 3: life: expected from <= to"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(tree_freep) struct tree *tree = NULL;
                struct error err = ERROR_NULL;
                struct stream stream;
                assert_int_equal(tree_parse(rows[i].text, strlen(rows[i].text), &tree, &err), 0);
                assert_true(stream_read(tree_root(tree), &stream, &err) < 0);
                if (strncmp(err.msg, rows[i].said, strlen(rows[i].said)) != 0)
                        fail_msg("%s, and not %s", err.msg, rows[i].said);
        }
}
