/**
 * Paths of services, pods and nodes behind a cluster, with queries, from the word `proxy` on. A direct connection delivers them as they are.
 * Without those that end in a question mark: an API server drops it.
 */
export const foreignTargets: readonly string[] = [
  '', '/', '/app', '/app/', '/v2/keys/', '/v2//keys', '//', '//app//', '/a%20b', '/f%C3%BCr', '/100%25', '/a%2Fb', '/a%2fb', '/a%5Cb', '/a%00b', '/a%0D%0Ab', '/a;b=c', '/a&b', '/a|b', '/[x]', '/{x}',
  '/a,b', "/it's", '/(a)', '/a*b', '/a!b', '/a$b', '/a+b', '/a:b', '/a@b', '/a=b', '/~me', '/"a"', '/<a>', '/a^b', '/`a`', '/...', '/a..b', '/.well-known/x', '/..a/', '/%61', '/%7Ea', '/%ff%fe', '/%252e%252e/x',
  `/${'a'.repeat(254)}`, `/${'b'.repeat(3000)}/`, `/${'c/'.repeat(400)}`, '/proxy', '/proxy/proxy/', '/api/v1/namespaces/b/services/c/proxy/d/', '/app/?a=b&c=d', '/x?token=of-the-app', '/x?access_token=of-the-app',
  '/x?sudo=root', '/x?org=other&page=2&limit=5', '/x?token=a&token=b', '/x?q=a%20b+c&q=100%', '/x?q=[1]|2;3', '/x?watch=true', '/x?dryRun=All', '/x?to%6ben=1', '/x?a?b', '/x?&&=', `/x?${'q'.repeat(5000)}`,
]

/** Headers that a direct connection delivers. */
export const foreignHeaders: readonly (readonly [string, string])[] = [
  ['Accept', 'text/html, */*;q=0.1'], ['Accept-Charset', 'utf-8'], ['Accept-Encoding', 'br'], ['Accept-Language', 'de, en;q=0.5'], ['Baggage', 'a=b'], ['Cache-Control', 'no-cache'], ['Content-Language', 'de'],
  ['Content-Type', 'application/x-protobuf'], ['Cookie', 'grafana_session=1; theme=dark'], ['DNT', '1'], ['Grpc-Timeout', '5S'], ['If-Match', '"a", "b"'], ['If-Modified-Since', 'Sat, 29 Oct 1994 19:43:31 GMT'],
  ['If-None-Match', 'W/"x"'], ['If-Range', '"a"'], ['If-Unmodified-Since', 'Sat, 29 Oct 1994 19:43:31 GMT'], ['Idempotency-Key', 'k-1'], ['Last-Event-ID', '7'], ['Origin', 'https://app.example'], ['Pragma', 'no-cache'],
  ['Prefer', 'return=minimal'], ['Range', 'bytes=2-5'], ['Referer', 'https://app.example/a'], ['Sec-Fetch-Mode', 'cors'], ['Traceparent', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'], ['User-Agent', 'curl/8'],
  ['X-API-Key', 'of-the-app'], ['X-CSRF-Token', 'of-the-app'], ['X-Custom', 'one'], ['X-Custom', 'two'], ['X-Empty', ''], ['x-OddCase', 'Kept'], ['X-Forwarded-Prefix', '/app'], ['X-Grafana-Org-Id', '3'],
  ['X-HTTP-Method-Override', 'PATCH'], ['X-Prometheus-Scrape-Timeout-Seconds', '9.5'], ['X-Request-Id', 'r-1'], ['X-Requested-With', 'XMLHttpRequest'], ['X-Scope-OrgID', 'tenant-1'], ['X-Vault-Token', 'of-the-app'],
]

/** Headers that name the caller, belong to one connection, or are this service's own. */
export const ownHeaders: readonly (readonly [string, string])[] = [
  ['Sudo', ''], ['X-Remote-User', 'root'], ['X-Remote-Group', 'system:masters'], ['X-Remote-Extra-Scopes', 'all'], ['X-Forwarded-For', '10.1.2.3'], ['X-Forwarded-User', 'root'], ['Forwarded', 'for=10.1.2.3'], ['X-Real-IP', '10.1.2.3'],
  ['Proxy-Authorization', 'Basic x'], ['TE', 'trailers'], ['Keep-Alive', 'timeout=5'], ['Expect', '100-continue'], ['X-OTP', '123456'], ['Connection', 'close, X-Hop'], ['X-Hop', '1'],
]
