/* The list of libmicrohttpd's quirks is that of the version which Debian has. What the server does
 * about them is tested over sockets, in test_http_server*.c and test_server_tls.c. */
#include "tests/unit/fixture/test.h"

#include "base/file.h"
#include "base/mem.h"
#include "net/mhd.h"

static bool is_debian(void) {
        _cleanup_(freep) char *text = NULL;
        size_t len = 0;

        return file_read("/etc/os-release", 1 << 16, &text, &len, NULL) == 0 &&
               strstr(text, "\nID=debian\n");
}

TEST(quirks_were_checked_with_this_version) {
        if (!is_debian())
                skip(); /* other systems have other versions; the tests of the server hold there too
                         */
        if (strcmp(MHD_get_version(), CHECKED_MHD_VERSION) != 0)
                fail_msg("libmicrohttpd is %s, but common/net/mhd.h lists the quirks of %s: "
                         "check each row of its table again, then change "
                         "CHECKED_MHD_VERSION",
                         MHD_get_version(), CHECKED_MHD_VERSION);
}
