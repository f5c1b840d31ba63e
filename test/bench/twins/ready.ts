import type { Server } from 'node:net'

/** Listens on a free port of loopback and tells it to whoever started this process, on one line. */
export function announce(server: Server, extra: Readonly<Record<string, unknown>> = {}): void {
  server.listen(0, '127.0.0.1', 4096, () => {
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('a TCP server has no port')
    process.stdout.write(`${JSON.stringify({ port: address.port, ...extra })}\n`)
  })
  // Whoever started it holds the other end of stdin; when that goes, so does this.
  process.stdin.on('end', () => process.exit(0)).resume()
}

/** The settings that the starter gave, as JSON in the first argument. */
export const given = <A>(): A => JSON.parse(process.argv[2] ?? '{}') as A
