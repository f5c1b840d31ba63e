import type { AddressInfo, Server, Socket } from 'node:net'
import { createServer } from 'node:net'
import { createServer as createSecureServer, TLSSocket } from 'node:tls'
import test from 'ava'
import fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { makeLdapDirectorySearch } from '../../adapters/identity-providers/ldap/ldap-directory-search.ts'
import { idValue, isDisabled, subjectOf } from '../../adapters/identity-providers/ldap/entries.ts'
import { isMessage, messageLength } from '../../adapters/identity-providers/ldap/messages.ts'
import { makeEgressAllowance, makeUserUrlPolicy, readEgressTarget } from '../../adapters/outbound/egress-policy.ts'
import { directoryIssuer, directoryOf } from '../../core/identity-providers/providers/directory-form.ts'
import type { DirectoryClient } from '../../core/identity-providers/types.ts'
import { secret } from '../../core/kernel/secret.ts'
import { makeServerCertificate } from '../support/server-certificate.ts'

/** Returns an element of BER. */
const element = (tag: number, ...parts: readonly (Buffer | string)[]): Buffer => {
  const content = Buffer.concat(parts.map((part) => Buffer.from(part as string)))
  const length = Buffer.from([0x84, 0, 0, 0, 0])
  length.writeUInt32BE(content.length, 1)
  return Buffer.concat([Buffer.from([tag]), length, content])
}
const number = (n: number): Buffer => element(0x02, Buffer.from([n]))
const text = (content: string): Buffer => element(0x04, content)
const message = (id: number, operation: Buffer): Buffer => element(0x30, number(id), operation)
const result = (tag: number, code = 0): Buffer => element(tag, element(0x0a, Buffer.from([code])), text(''), text(''))
const [bindDone, searchDone, extendedDone] = [0x61, 0x65, 0x78]
const entryOf = (dn: string, attributes: readonly (readonly [string, string])[]): Buffer =>
  element(
    0x64,
    text(dn),
    element(0x30, ...attributes.map(([name, value]) => element(0x30, text(name), element(0x31, text(value))))),
  )
const uuid = '4aa0222c-7f8d-1041-92e3-b31fc0d79475'
const person = entryOf('uid=a,dc=x', [['entryUUID', uuid]])

/** What a client asks: the id of the message, and the tag of its operation. */
const askedOf = (bytes: Buffer): { readonly id: number; readonly tag: number } => {
  const at = (bytes[1] ?? 0) < 0x80 ? 2 : 2 + ((bytes[1] ?? 0) & 0x7f)
  return { id: bytes[at + 2] ?? 0, tag: bytes[at + 3] ?? 0 }
}

type Answers = (asked: { readonly id: number; readonly tag: number }, socket: Socket) => void

const servers: Server[] = []
test.after.always(() => {
  for (const server of servers) server.close()
})

/** Starts a server that answers as a test says, and returns its port. */
const serve = async (answers: Answers, certificate?: { certificatePem: string; keyPem: string }): Promise<number> => {
  const onSocket = (socket: Socket): void => {
    socket.on('error', () => undefined)
    socket.on('data', (bytes: Buffer) => answers(askedOf(bytes), socket))
  }
  const server =
    certificate === undefined
      ? createServer(onSocket)
      : createSecureServer({ cert: certificate.certificatePem, key: certificate.keyPem }, onSocket)
  servers.push(server)
  server.on('tlsClientError', () => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

/** A server that binds everyone, and finds these entries. */
const friendly =
  (...entries: readonly Buffer[]): Answers =>
  ({ id, tag }, socket) => {
    if (tag === 0x60) socket.write(message(id, result(bindDone)))
    if (tag !== 0x63) return
    for (const entry of entries) socket.write(message(id, entry))
    socket.write(message(id, result(searchDone)))
  }

const searchAt = (port: number, host = 'localhost', more: { readonly requestMilliseconds?: number } = {}) => {
  const target = readEgressTarget(`${host}:${port}`)
  const allowance = makeEgressAllowance(target === undefined ? [] : [target])
  return makeLdapDirectorySearch({
    policy: makeUserUrlPolicy(allowance),
    allowance,
    limiter: { run: (_, work) => work() },
    clock: { now: () => new Date() },
    ...more,
  })
}

const clientOf = (address: string, options: object = {}): DirectoryClient => ({
  address,
  bindDn: 'cn=reader',
  secret: secret('a password'),
  groupsAttribute: '',
  options: { ...directoryOf({ userBase: 'dc=x', usesStartTls: false }, undefined), ...options },
})

const call = () => ({ sourceIp: '192.0.2.1', signal: new AbortController().signal })

/** Returns why the check of a server fails; empty if it does not. */
const problemAt = async (port: number, options: object = {}, scheme = 'ldap'): Promise<string> => {
  const checked = await searchAt(port).check(clientOf(`${scheme}://localhost:${port}`, options), call())
  return isLeft(checked) ? checked.left.message : ''
}

test('a server that answers as a directory works', async (t) => {
  t.is(await problemAt(await serve(friendly(person))), '')
})

for (const [what, answer] of [
  ['HTML', Buffer.from('<html>not a directory</html>')],
  ['a message of another form', message(1, element(0x64, number(1)))],
  ['a length of four gigabytes', Buffer.from([0x30, 0x84, 0xff, 0xff, 0xff, 0xff, 0x02])],
  ['an indefinite length', Buffer.from([0x30, 0x80, 0x02, 0x01, 0x01])],
] as const)
  test(`a server that answers ${what} cannot be used`, async (t) => {
    const port = await serve((_, socket) => socket.write(answer))
    t.regex(await problemAt(port), /does not answer as a directory does/)
  })

test('an entry whose length is longer than its message ends the connection', async (t) => {
  // The library would read its attributes for ever.
  const attributes = Buffer.from([0x30, 0x50, 0x30, 0x40, 0x04, 0x01, 0x61, 0x31, 0x7f])
  const port = await serve(({ id, tag }, socket) => {
    if (tag === 0x60) socket.write(message(id, result(bindDone)))
    if (tag === 0x63) socket.write(message(id, element(0x64, text('uid=a'), attributes)))
  })
  t.regex(await problemAt(port), /does not answer as a directory does/)
})

test('many small messages in one piece are read', async (t) => {
  const port = await serve(({ id, tag }, socket) => {
    if (tag === 0x60) socket.write(message(id, result(bindDone)))
    if (tag !== 0x63) return
    const reference = message(id, element(0x73, text('ldap://other.test/')))
    socket.write(
      Buffer.concat([...Array<Buffer>(4_000).fill(reference), message(id, person), message(id, result(searchDone))]),
    )
  })
  t.is(await problemAt(port), '')
})

test('an answer without end ends the connection', async (t) => {
  const port = await serve(({ id, tag }, socket) => {
    if (tag === 0x60) socket.write(message(id, result(bindDone)))
    if (tag === 0x63) socket.write(Buffer.concat(Array<Buffer>(5_001).fill(message(id, person))))
  })
  t.regex(await problemAt(port), /does not answer as a directory does/)
})

test('a server that closes the connection is not asked again without a bind', async (t) => {
  const sockets = new Set<Socket>()
  const port = await serve(({ id, tag }, socket) => {
    sockets.add(socket)
    if (tag === 0x60) socket.write(message(id, result(bindDone)))
    else socket.destroy()
  })
  t.not(await problemAt(port), '')
  t.is(sockets.size, 1)
})

for (const [what, scheme, options] of [
  ['does not answer', 'ldap', {}],
  ['does not answer StartTLS', 'ldap', { usesStartTls: true }],
  ['does not begin TLS', 'ldaps', {}],
] as const)
  test(`a server that ${what} is not available`, async (t) => {
    const port = await serve(() => undefined)
    const search = searchAt(port, 'localhost', { requestMilliseconds: 100 })
    const checked = await search.check(clientOf(`${scheme}://localhost:${port}`, options), call())
    t.regex(isLeft(checked) ? checked.left.message : '', /did not answer in time/)
  })

test('a server that is silent holds up no caller who leaves', async (t) => {
  const leave = new AbortController()
  const port = await serve(() => leave.abort(new Error('left')))
  const of = clientOf(`ldap://localhost:${port}`)
  await t.throwsAsync(searchAt(port).find(of, 'a', { sourceIp: '192.0.2.1', signal: leave.signal }), {
    message: 'left',
  })
})

test('a referral to another server is not followed', async (t) => {
  let visits = 0
  const other = await serve(() => (visits += 1))
  const referral = element(0x73, text(`ldap://localhost:${other}/dc=x`))
  const port = await serve(friendly(referral))
  const found = await searchAt(port).find(clientOf(`ldap://localhost:${port}`), 'a', call())
  t.deepEqual(isRight(found) ? found.right : found, undefined)
  const refused = await serve(({ id, tag }, socket) =>
    socket.write(message(id, result(tag === 0x60 ? bindDone : searchDone, tag === 0x60 ? 0 : 10))),
  )
  t.regex(await problemAt(refused), /refuses the request, with the code 10/)
  t.is(visits, 0)
})

test('a directory that binds everyone does not bind an empty password', async (t) => {
  const port = await serve(friendly(person))
  const of = clientOf(`ldap://localhost:${port}`)
  const entry = { dn: 'uid=a,dc=x', subject: uuid }
  const proves = async (password: string) => {
    const answer = await searchAt(port).authenticate(of, { entry, password: secret(password) }, call())
    return isRight(answer) && answer.right !== undefined
  }
  t.deepEqual([await proves(''), await proves('any')], [false, true])
  t.regex(await problemAt(port, {}), /^$/)
  const noSecret = await searchAt(port).check({ ...of, secret: undefined }, call())
  t.true(isLeft(noSecret))
})

test('StartTLS that is refused sends no password', async (t) => {
  const seen: number[] = []
  const port = await serve(({ id, tag }, socket) => {
    seen.push(tag)
    socket.write(message(id, result(extendedDone, 2)))
  })
  t.regex(await problemAt(port, { usesStartTls: true }), /refuses StartTLS/)
  t.deepEqual(seen, [0x77])
})

test('words before the encryption are not heard after it', async (t) => {
  const certificate = await makeServerCertificate('slapd')
  let heard = 0
  // In one piece with its answer, the server says the beginning of a bind that has succeeded.
  const port = await serve(({ id }, socket) => {
    heard += 1
    const forged = message(id + 1, result(bindDone))
    if (heard > 1) return
    socket.write(Buffer.concat([message(id, result(extendedDone)), forged.subarray(0, forged.length - 1)]))
    socket.removeAllListeners('data')
    const secured = new TLSSocket(socket, { isServer: true, cert: certificate.certificatePem, key: certificate.keyPem })
    secured.on('error', () => undefined)
    secured.on('data', (bytes: Buffer) => secured.write(message(askedOf(bytes).id, result(bindDone, 49))))
  })
  const options = { usesStartTls: true, authorities: certificate.certificatePem }
  t.regex(await problemAt(port, options), /refuses the DN to search with/)
})

test('a certificate of another name, or of no known authority, is refused', async (t) => {
  const [other, own] = [await makeServerCertificate('other', 'DNS:other.test'), await makeServerCertificate('slapd')]
  const [atOther, atOwn] = [await serve(friendly(person), other), await serve(friendly(person), own)]
  t.regex(await problemAt(atOther, { authorities: other.certificatePem }, 'ldaps'), /certificate of localhost/)
  t.regex(await problemAt(atOwn, {}, 'ldaps'), /certificate of localhost/)
  t.is(await problemAt(atOwn, { authorities: own.certificatePem }, 'ldaps'), '')
})

test('an address that is not allowed is not connected to', async (t) => {
  let visits = 0
  const port = await serve(() => (visits += 1))
  const searchElsewhere = searchAt(port, 'elsewhere.test')
  const checked = await searchElsewhere.check(clientOf(`ldap://localhost:${port}`), call())
  t.regex(isLeft(checked) ? checked.left.message : '', /port is not one of LDAP/)
  for (const address of [
    'ldaps://127.0.0.1',
    'ldaps://[::1]',
    'ldap://0x7f000001',
    'ldaps://169.254.169.254',
    'ldaps://localhost',
  ]) {
    const refused = await searchElsewhere.check(clientOf(address), call())
    t.regex(isLeft(refused) ? refused.left.message : '', /cannot be reached from here/, address)
  }
  t.is(visits, 0)
})

test('only whole messages have the form of one', (t) => {
  const whole = message(1, person)
  fc.assert(
    fc.property(fc.nat(whole.length - 1), fc.nat(255), (at, byte) => {
      const changed = Buffer.from(whole)
      changed[at] = byte
      // It ends, and what it accepts has its own length.
      return !isMessage(changed) || messageLength(changed) === changed.length
    }),
  )
  t.true(isMessage(whole))
  t.false(isMessage(whole.subarray(0, -1)))
  t.false(isMessage(Buffer.concat([whole, whole])))
})

test('a GUID of Active Directory is searched for by the bytes that it was read from', (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (array) => {
      const bytes = Buffer.from(array)
      const subject = subjectOf('objectGUID', bytes)
      return subject !== undefined && bytes.equals(idValue('objectGUID', subject) as Buffer)
    }),
  )
  const bytes = Buffer.from('33221100554477668899aabbccddeeff', 'hex')
  t.is(subjectOf('objectGUID', bytes), '00112233-4455-6677-8899-aabbccddeeff')
  t.is(subjectOf('entryUUID', uuid.toUpperCase()), uuid)
  t.is(subjectOf('nsUniqueId', '8c12e5b4-1dd211b2-80b3e1a5-6c0a0000'), '8c12e5b4-1dd211b2-80b3e1a5-6c0a0000')
  for (const wrong of ['', 'admin', `${uuid}0`]) t.is(subjectOf('entryUUID', wrong), undefined)
})

test('a lock after wrong passwords does not disable an entry, other marks do', (t) => {
  const now = new Date('2026-11-28T12:00:00Z')
  const ticks = (at: Date): string => String(BigInt(at.getTime()) * 10_000n + 116_444_736_000_000_000n)
  const disabled = (attributes: object): boolean => isDisabled({ dn: 'cn=ann', ...attributes }, now)
  for (const marks of [
    { userAccountControl: '514' },
    { nsAccountLock: 'TRUE' },
    { pwdAccountLockedTime: '000001010000Z' },
    { accountExpires: ticks(now) },
    { accountExpires: ticks(new Date('1999-12-31T00:00:00Z')) },
  ])
    t.true(disabled(marks), JSON.stringify(marks))
  for (const marks of [
    {},
    { userAccountControl: '512' },
    { nsAccountLock: 'false' },
    { pwdAccountLockedTime: '20261128115900Z' },
    { accountExpires: '0' },
    { accountExpires: '9223372036854775807' },
    { accountExpires: ticks(new Date(now.getTime() + 1)) },
    { accountExpires: 'soon' },
  ])
    t.false(disabled(marks), JSON.stringify(marks))
})

test('the host alone makes the issuer of the people of a directory', (t) => {
  const issuers = ['ldaps://LDAP.x.test:636', 'ldap://ldap.x.test', 'ldap://ldap.x.test:3268'].map(directoryIssuer)
  t.deepEqual([...new Set(issuers)], ['ldap://ldap.x.test'])
})
