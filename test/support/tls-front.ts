import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer } from 'node:tls'
import { makeServerCertificate } from './server-certificate.ts'

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
  const { certificatePem, keyPem } = await makeServerCertificate('moorage-test-front')
  const folder = mkdtempSync(join(tmpdir(), 'moorage-tls-'))
  const caPath = join(folder, 'front.crt')
  writeFileSync(caPath, certificatePem)
  let target: URL | undefined
  const open = new Set<Socket>()
  const server = createServer({ cert: certificatePem, key: keyPem }, (outside) => {
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
