import 'reflect-metadata'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { request } from 'node:https'
import { connect, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { setTimeout as wait } from 'node:timers/promises'
import test from 'ava'
import { shareWithTls } from '../../composition/runtime/http/connections.ts'
import type { TlsIdentity } from '../../adapters/security/tls-identity.ts'
import { datedCertificate } from '../support/dated-certificate.ts'
import { openSelfSignedIdentity, readTlsIdentity, watchTlsIdentity } from '../../adapters/security/tls-identity.ts'
import { until } from '../support/until.ts'
import { stubRoutes } from './stub-routes.ts'
import type { StubServer } from './stub-server.ts'
import { startStubServer } from './stub-server.ts'

let server: StubServer
let folder: string
let tls: TlsIdentity
test.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'moorage-tls-'))
  tls = await openSelfSignedIdentity(folder, ['localhost', '127.0.0.1'])
  server = await startStubServer(stubRoutes, { tls })
})
test.after.always(async () => {
  await server.stop()
  await rm(folder, { recursive: true, force: true })
})

const secureGet = (port: number, ca: string, path: string): Promise<{ status: number; body: string }> =>
  new Promise((resolve, reject) => {
    const req = request({ host: '127.0.0.1', port, ca, path, headers: { authorization: 'Bearer good' } }, (res) => {
      let body = ''
      res.on('data', (chunk: Buffer) => (body += chunk.toString()))
      res.on('end', () => resolve({ status: res.statusCode ?? 0, body }))
    })
    req.on('error', reject)
    req.end()
  })

test('one port answers HTTP and HTTPS with a verified certificate', async (t) => {
  t.is((await fetch(`${server.baseUrl}/api/v1/things/1`, { headers: { authorization: 'token good' } })).status, 200)
  const secure = await secureGet(server.port, tls.certificatePem, '/api/v1/things/1')
  t.is(secure.status, 200)
  t.regex(secure.body, /thing 1/)
})

test('TLS 1.3 is preferred, 1.2 accepted, always with forward secrecy', async (t) => {
  const agreed = async (options: object): Promise<string> => {
    const socket = connectTls({ port: server.port, host: '127.0.0.1', ca: tls.certificatePem, ...options })
    try {
      await once(socket, 'secureConnect')
      return `${socket.getProtocol()} ${socket.getCipher().standardName}`
    } catch (error) {
      return String((error as NodeJS.ErrnoException).code)
    } finally {
      socket.destroy()
    }
  }
  t.is(await agreed({}), 'TLSv1.3 TLS_AES_256_GCM_SHA384')
  t.is(await agreed({ maxVersion: 'TLSv1.2' }), 'TLSv1.2 TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384')
  t.regex(
    await agreed({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' }),
    /ALERT_PROTOCOL_VERSION/,
  )
  for (const ciphers of ['AES256-GCM-SHA384', 'ECDHE-ECDSA-AES256-SHA'])
    t.regex(await agreed({ maxVersion: 'TLSv1.2', ciphers }), /HANDSHAKE_FAILURE/, ciphers)
})

test('a client without the certificate refuses the connection', async (t) => {
  const refused = await t.throwsAsync(secureGet(server.port, '', '/api/v1/things/1'))
  t.regex((refused as NodeJS.ErrnoException).code ?? '', /CERT|SELF_SIGNED/)
})

test('a large body passes whole by HTTPS, and an upgrade too', async (t) => {
  const socket = connectTls({ port: server.port, host: '127.0.0.1', ca: tls.certificatePem })
  let received = ''
  socket.on('data', (chunk: Buffer) => (received += chunk.toString()))
  socket.write(
    'GET /api/v1/c/acme/prod/proxy/exec HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nAuthorization: Bearer good\r\n\r\n',
  )
  const until = async (part: string): Promise<void> => {
    for (let i = 0; i < 200 && !received.includes(part); i++) await wait(10)
  }
  await until('101 Switching')
  socket.write('x'.repeat(200_000) + 'end')
  await until('end')
  socket.destroy()
  t.is(received.length - received.indexOf('\r\n\r\n') - 4, 200_003)
})

test('bytes that are neither, and a silent connection, do no harm', async (t) => {
  const odd = connect(server.port, '127.0.0.1')
  odd.on('error', () => undefined)
  odd.write(Buffer.from([0x16, 0xff, 0x00, 0x01, 0x02]))
  const silent = connect(server.port, '127.0.0.1')
  silent.on('error', () => undefined)
  await wait(50)
  t.is((await fetch(`${server.baseUrl}/api/v1/things`)).status, 200)
  odd.destroy()
  silent.destroy()
})

for (const [what, bytes] of [
  ['begins', [0x16]],
  ['says how long its greeting is', [0x16, 0x03, 0x01, 0x02, 0x00]],
] as const) {
  test(`a handshake that ${what} and never continues is closed`, async (t) => {
    const own = createServer()
    shareWithTls(own, tls, 200)
    own.listen(0, '127.0.0.1')
    await once(own, 'listening')
    t.teardown(() => own.close())
    const client = connect((own.address() as AddressInfo).port, '127.0.0.1')
    t.teardown(() => client.destroy())
    client.on('error', () => undefined)
    client.write(Buffer.from(bytes))
    client.resume()
    const ended = once(client, 'close').then(() => true)
    t.true(await Promise.race([ended, wait(10_000, false)]))
  })
}

test('a renewed certificate serves new connections once both files match', async (t) => {
  const own = await mkdtemp(join(tmpdir(), 'moorage-tls-'))
  t.teardown(() => rm(own, { recursive: true, force: true }))
  const [before, after] = [
    await openSelfSignedIdentity(join(own, 'before'), ['127.0.0.1']),
    await openSelfSignedIdentity(join(own, 'after'), ['127.0.0.1']),
  ]
  const [certificatePath, keyPath] = [join(own, 'tls.crt'), join(own, 'tls.key')]
  const put = async (
    { certificatePem }: Pick<TlsIdentity, 'certificatePem'>,
    { keyPem }: Pick<TlsIdentity, 'keyPem'>,
  ): Promise<void> => {
    await writeFile(certificatePath, certificatePem)
    await writeFile(keyPath, keyPem)
  }
  await put(before, before)
  const renewed = await startStubServer(stubRoutes, { tls: readTlsIdentity(certificatePath, keyPath) })
  t.teardown(() => renewed.stop())
  const open = connectTls({ port: renewed.port, host: '127.0.0.1', ca: before.certificatePem })
  t.teardown(() => open.destroy())
  await once(open, 'secureConnect')
  const shown = async (): Promise<string | undefined> => {
    const socket = connectTls({ port: renewed.port, host: '127.0.0.1', rejectUnauthorized: false })
    await once(socket, 'secureConnect')
    const certificate = socket.getPeerX509Certificate()?.toString().trim()
    socket.destroy()
    return certificate
  }
  const refusals: string[] = []
  let replacements = 0
  const stop = watchTlsIdentity({
    certificatePath,
    keyPath,
    current: readTlsIdentity(certificatePath, keyPath),
    everyMs: 5,
    replace: (identity) => {
      renewed.replaceTls(identity)
      replacements += 1
    },
    refuse: (reason) => void refusals.push(reason),
  })
  t.teardown(stop)
  await put(after, before)
  await until('a pair that does not match is refused', () =>
    refusals.find((reason) => reason.includes('is not the one of the certificate')),
  )
  t.is(await shown(), before.certificatePem.trim())
  for (const [from, until_, what] of [
    [-9, -1, 'has ended'],
    [1, 9, 'is not valid yet'],
  ] as const) {
    const wrong = await datedCertificate(from, until_)
    const told = refusals.length
    await put(wrong, wrong)
    await until(`a certificate that ${what} is refused`, () =>
      refusals.slice(told).find((reason) => reason.includes('which is not now')),
    )
    t.is(await shown(), before.certificatePem.trim(), what)
  }
  await put(after, after)
  await until('the new pair is used', () => (replacements > 0 ? true : undefined))
  t.is(await shown(), after.certificatePem.trim())
  open.write('GET /api/v1/things HTTP/1.1\r\nHost: a\r\n\r\n')
  const [answer] = (await once(open, 'data')) as [Buffer]
  t.regex(answer.toString(), /^HTTP\/1\.1 200 /)
  t.is(replacements, 1)
})

test('the identity is kept, and made again for a host that it does not name', async (t) => {
  t.is((await openSelfSignedIdentity(folder, ['localhost'])).certificatePem, tls.certificatePem)
  const other = await mkdtemp(join(tmpdir(), 'moorage-tls-'))
  const first = await openSelfSignedIdentity(other, ['localhost'])
  const second = await openSelfSignedIdentity(other, ['localhost', 'moorage.internal'])
  t.not(first.certificatePem, second.certificatePem)
  await rm(other, { recursive: true, force: true })
})
