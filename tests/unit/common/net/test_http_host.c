/* Which values of Host a web page that was rebound cannot have. */
#include "tests/unit/fixture/test.h"

#include "net/http_host.h"
#include "tests/unit/fixture/rows.h"

static void show(const char *text, size_t len, struct buf *out) {
        buf_puts(out, http_host_is_private(text) ? "private" : "-");
}

TEST(private_hosts) {
        rows_check("hosts.tsv", show);
}
