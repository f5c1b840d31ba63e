import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer } from 'node:tls'
import { mustRun } from './components/run-command.ts'

/** Ends TLS before a plain listener, as a load balancer does; bytes pass as they are. */
export interface TlsFront {
  /** `https://127.0.0.1:port` */
  readonly url: string
  /** The authority of its certificate. */
  readonly caPath: string
  /** Where connections go from now on. */
  pointTo(plainUrl: string): void
  stop(): Promise<void>
}

/** Listens at once, so that its address can be told to the service that will stand behind it. */
export const startTlsFront = async (): Promise<TlsFront> => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-tls-'))
  const [caPath, keyPath] = [join(folder, 'front.crt'), join(folder, 'front.key')]
  await mustRun('openssl', [
    'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', keyPath, '-out', caPath,
    '-days', '30', '-subj', '/CN=moorage-test-front', '-addext', 'subjectAltName=IP:127.0.0.1',
  ])
  let target: URL | undefined
  const open = new Set<Socket>()
  const server = createServer({ cert: readFileSync(caPath), key: readFileSync(keyPath) }, (outside) => {
    const inside = connect(Number(target?.port ?? 0), '127.0.0.1')
    for (const socket of [outside, inside]) {
      open.add(socket)
      socket.on('close', () => open.delete(socket))
    }
    outside.on('error', () => inside.destroy())
    inside.on('error', () => outside.destroy())
    outside.on('close', () => inside.destroy())
    inside.on('close', () => outside.destroy())
    outside.pipe(inside).pipe(outside)
  })
  server.on('tlsClientError', () => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    caPath,
    pointTo: (plainUrl) => void (target = new URL(plainUrl)),
    stop: async () => {
      for (const socket of open) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
