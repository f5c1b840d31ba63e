import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { getPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { hash } from '@node-rs/argon2'
import test from 'ava'
import fc from 'fast-check'
import type { HashingTask } from '../../adapters/security/passwords.ts'
import { hashingConcurrency, makeArgon2PasswordHasher, makeHashingQueue } from '../../adapters/security/passwords.ts'
import { Busy } from '../../core/kernel/failure.ts'
import { KeyringUnusable, openOrMakeKeyringFile, readKeyringFile } from '../../adapters/security/keyring-file.ts'
import type { KeyringContent } from '../../adapters/security/keyring.ts'
import {
  makeSecretBox,
  newKeyring,
  openKeyring,
  waitingKeyOf,
  withAddedKey,
  withCurrentKey,
} from '../../adapters/security/keyring.ts'
import type { SealedPlace } from '../../core/kernel/secret.ts'
import { secret } from '../../core/kernel/secret.ts'

const hasher = makeArgon2PasswordHasher()

test('a password matches its hash and no other does, to the last character', async (t) => {
  const phc = await hasher.hash(secret('correct horse battery'))
  t.regex(phc, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
  t.true(await hasher.verify(phc, secret('correct horse battery')))
  t.false(await hasher.verify(phc, secret('correct horse batterY')))
  t.false(await hasher.verify(phc, secret('correct horse battery ')))
})

test('nothing is cut: passwords that differ only at the end of 256 characters differ', async (t) => {
  const long = 'ö'.repeat(255)
  const phc = await hasher.hash(secret(`${long}a`))
  t.false(await hasher.verify(phc, secret(`${long}b`)))
})

test('a malformed hash is no match and wants a new one', async (t) => {
  for (const phc of ['', 'plain', '$argon2id$v=19$m=1', '$2b$10$abcdefghijklmnopqrstuv']) {
    t.false(await hasher.verify(phc, secret('x')))
    t.true(hasher.needsRehash(phc))
  }
})

test('hashes of other parameters want a new one', async (t) => {
  t.false(hasher.needsRehash(await hasher.hash(secret('x'))))
  t.true(hasher.needsRehash(await hash('x', { algorithm: 2, memoryCost: 12_288, timeCost: 3, parallelism: 1 })))
  t.true(hasher.needsRehash(await hash('x', { algorithm: 1, memoryCost: 19_456, timeCost: 2, parallelism: 1 })))
})

test('the dummy hash has the current parameters and matches nothing', async (t) => {
  const phc = await hasher.dummyPhc()
  t.false(hasher.needsRehash(phc))
  t.is(phc, await hasher.dummyPhc())
  t.not(phc, await makeArgon2PasswordHasher().dummyPhc())
  t.false(await hasher.verify(phc, secret('')))
})

test("hashing is queued, and an account's excess is Busy", async (t) => {
  const callers = ['network a', 'network b']
  let [caller, most, running] = [callers[0], 0, 0]
  const order: string[] = []
  const threads = {
    async run(task: HashingTask) {
      running += 1
      most = Math.max(most, running)
      await new Promise((resolve) => setImmediate(resolve))
      running -= 1
      order.push(task.password)
      return true
    },
  }
  const queue = makeHashingQueue({
    share: (total) => (total === hashingConcurrency() ? 1 : 3),
    caller: { account: () => caller, signal: () => undefined },
  })
  const narrow = makeArgon2PasswordHasher(queue, undefined, threads)
  const phc = await narrow.dummyPhc()
  const all = Array.from({ length: 6 }, (_, at) => narrow.verify(phc, secret(`a${at}`), `name ${at}`))
  caller = callers[1]
  all.push(narrow.verify(phc, secret('b'), 'bob'))
  const ended = await Promise.allSettled(all)
  t.deepEqual(order, ['a0', 'b', 'a1', 'a2', 'a3'])
  t.is(most, 1)
  const refused = ended.filter((each) => each.status === 'rejected').map(({ reason }) => reason as Busy)
  t.is(refused.length, 2)
  t.true(refused.every((error) => error instanceof Busy && Number.isInteger(error.retryAfterSeconds)))
  t.like(queue.load(), { running: 0, waiting: 0, refusals: 2 })
})

test('a network key as a name does not delay that network', async (t) => {
  let caller = 'network 192.0.2.1'
  const order: string[] = []
  const threads = {
    async run({ password }: HashingTask) {
      await new Promise((resolve) => setImmediate(resolve))
      order.push(password)
      return true
    },
  }
  const queue = makeHashingQueue({
    share: (total) => (total === hashingConcurrency() ? 1 : total),
    caller: { account: () => caller, signal: () => undefined },
  })
  const narrow = makeArgon2PasswordHasher(queue, undefined, threads)
  const phc = await narrow.dummyPhc()
  const all = [narrow.verify(phc, secret('of the stranger'), 'network 198.51.100.9')]
  caller = 'network 198.51.100.9'
  all.push(narrow.verify(phc, secret('of the network'), 'bob'))
  caller = 'network 203.0.113.7'
  all.push(narrow.verify(phc, secret('later'), 'ada'))
  await Promise.all(all)
  t.deepEqual(order, ['of the stranger', 'of the network', 'later'])
})

test('never more than two at once, and a core is left to requests', (t) => {
  t.deepEqual(
    [1, 2, 3, 64].map((cores) => hashingConcurrency(cores)),
    [1, 1, 2, 2],
  )
})

test('hashes and checks that run side by side get their own answers', async (t) => {
  const words = ['quay', 'mole', 'pier', 'dock', 'slip', 'berth']
  const phcs = await Promise.all(words.map((word) => hasher.hash(secret(word))))
  const matches = await Promise.all(
    words.map((word, index) => hasher.verify(phcs[(index + 1) % words.length] ?? '', secret(word))),
  )
  t.deepEqual(
    matches,
    words.map(() => false),
  )
  const own = await Promise.all(words.map((word, index) => hasher.verify(phcs[index] ?? '', secret(word))))
  t.deepEqual(
    own,
    words.map(() => true),
  )
})

const priorityAtStart = getPriority()

test('on Linux the hashing threads yield to the rest of the process', async (t) => {
  if (process.platform !== 'linux') return t.pass('priorities of threads are a matter of Linux')
  await hasher.hash(secret('x'))
  const niceness = new Map(
    readdirSync('/proc/self/task').flatMap((thread) => {
      try {
        return [
          [
            Number(thread),
            Number(readFileSync(`/proc/self/task/${thread}/stat`, 'utf8').split(') ')[1]?.split(' ')[16]),
          ],
        ]
      } catch {
        return []
      }
    }),
  )
  t.true([...niceness.values()].includes(10), [...niceness.values()].join())
  t.is(niceness.get(process.pid), priorityAtStart)
})

const root = fileURLToPath(new URL('../../', import.meta.url))
const product = ['core', 'plugins', 'adapters', 'composition']
  .flatMap((folder) =>
    readdirSync(root + folder, { recursive: true, encoding: 'utf8' }).map((path) => `${folder}/${path}`),
  )
  .filter((path) => path.endsWith('.ts'))
  .map((path) => ({ path, text: readFileSync(root + path, 'utf8') }))

const all = (pattern: RegExp): readonly string[] =>
  [...new Set(product.flatMap(({ text }) => [...text.matchAll(pattern)].map((match) => match[1] ?? '')))].toSorted()

test("there is one cipher, one hash, two key kinds and the system's randomness", (t) => {
  t.deepEqual(all(/'((?:aes|aria|camellia|chacha20|des|rc4|id-aes)-?\d*-[\w-]*)'/gi), ['aes-256-gcm'])
  t.deepEqual(
    all(/\b(?:createHash|createHmac|hkdfSync|hash)\('([\w-]+)'/g),
    ['sha256', 'sha512'],
    'SHA-512 of npm packages alone, as npm notes them',
  )
  t.deepEqual(
    all(/'((?:SHA-?|MD)\d+)'/g),
    ['SHA-256', 'SHA1'],
    'SHA-1 of one-time codes alone, as RFC 6238 and every app have it',
  )
  t.deepEqual(all(/'(sha(?!256')\d+)'/g), ['sha384', 'sha512'], 'SHA-384 with a license authority on P-384 alone')
  t.deepEqual(
    all(/'((?:RS|ES|PS|HS)\d{3}|P-\d{3}|none)'/g).filter((name) => name !== 'none'),
    ['ES256', 'P-256', 'PS256', 'RS256'],
    'PS256 of tokens of identity providers alone, which choose it',
  )
  t.deepEqual(all(/\b(publicEncrypt|privateDecrypt|createDiffieHellman|pseudoRandomBytes)\b/g), [])
  const notSecret = [
    'adapters/sql/authz/access-revisions.ts',
    'adapters/sql/engine/sqlite-database.ts',
    'adapters/sql/kit/driver-errors.ts',
    'adapters/tracing/otlp-tracing.ts',
    'composition/parts/marketplace/part.ts',
    'composition/runtime/service/jobs.ts',
  ]
  t.deepEqual(
    product
      .filter(({ text }) => text.includes('Math.random'))
      .map(({ path }) => path)
      .toSorted(),
    notSecret,
    'the length of waits, numbers of revisions, and which traces are recorded, which are no secret',
  )
})

test('docs/security.md names every file that uses cryptography', (t) => {
  const inventory = readFileSync(`${root}docs/security.md`, 'utf8')
  const users = product.filter(
    ({ text }) =>
      /from '(?:node:crypto|@node-rs\/argon2|@peculiar\/x509|jose|otpauth|@nats-io\/(?:jwt|nkeys))'/.test(text) &&
      !/^import \{ randomUUID \} from 'node:crypto'$/m.test(text),
  )
  t.true(users.length > 15)
  t.deepEqual(
    users.map(({ path }) => path).filter((path) => !inventory.includes(path)),
    [],
  )
})

const folder = mkdtempSync(join(tmpdir(), 'moorage-keyring-'))
test.after.always(() => rmSync(folder, { recursive: true, force: true }))
let count = 0
const freshPath = (): string => {
  const own = join(folder, `ring-${(count += 1)}`)
  mkdirSync(own)
  return join(own, 'keyring.json')
}

test('the first start makes it with mode 0600, the second reads the same keys', (t) => {
  const path = join(folder, 'made', 'deep', 'keyring.json')
  t.is(readKeyringFile(path), undefined)
  const made = openOrMakeKeyringFile(path)
  t.is(statSync(path).mode & 0o777, 0o600)
  t.deepEqual(readdirSync(join(folder, 'made', 'deep')), ['keyring.json'])
  const again = openOrMakeKeyringFile(path)
  t.is(again.wrapper.currentKeyId, made.wrapper.currentKeyId)
  t.deepEqual(again.auditKey.reveal(), made.auditKey.reveal())
  t.notDeepEqual(again.auditKey.reveal(), again.csrfKey.reveal())
})

test('a file that others can reach is refused with the command that helps', (t) => {
  const path = freshPath()
  openOrMakeKeyringFile(path)
  for (const mode of [0o644, 0o604, 0o606, 0o620]) {
    chmodSync(path, mode)
    const error = t.throws(() => openOrMakeKeyringFile(path), { instanceOf: KeyringUnusable })
    t.true(error.message.includes(`chmod 600 ${path}`), error.message)
  }
  chmodSync(path, 0o440)
  t.notThrows(() => openOrMakeKeyringFile(path))
})

test('a damaged file is refused, and the message holds none of it', (t) => {
  const path = freshPath()
  const content = newKeyring()
  const damaged: readonly string[] = [
    '',
    `{"auditKey": "${content.auditKey}" "`,
    JSON.stringify({ ...content, version: 2 }),
    JSON.stringify({ ...content, keys: [] }),
    JSON.stringify({ ...content, currentKeyId: 'other' }),
    JSON.stringify({ ...content, auditKey: content.auditKey.slice(4) }),
    JSON.stringify({ ...content, keys: [...content.keys, ...content.keys] }),
  ]
  for (const text of damaged) {
    writeFileSync(path, text, { mode: 0o600 })
    const error = t.throws(() => openOrMakeKeyringFile(path), { instanceOf: KeyringUnusable })
    t.regex(error.message, /cannot be used: .*Restore it from a backup/)
    t.false(error.message.includes(content.auditKey.slice(0, 10)))
    t.is(readFileSync(path, 'utf8'), text, 'a damaged key ring is never overwritten')
  }
})

test('several processes that start at once get one key ring', async (t) => {
  const path = freshPath()
  const module = JSON.stringify(new URL('../../adapters/security/keyring-file.ts', import.meta.url).href)
  const start = new Int32Array(new SharedArrayBuffer(4))
  const code = `
    const { parentPort, workerData } = require('node:worker_threads')
    import(${module}).then((m) => {
      parentPort.postMessage('ready')
      Atomics.wait(workerData.start, 0, 0)
      parentPort.postMessage(m.openOrMakeKeyringFile(workerData.path).wrapper.currentKeyId)
    })`
  const workers = Array.from({ length: 4 }, () => new Worker(code, { eval: true, workerData: { start, path } }))
  const ready = workers.map((worker) => new Promise((resolve) => worker.once('message', resolve)))
  await Promise.all(ready)
  const ids = workers.map((worker) => new Promise((resolve) => worker.once('message', resolve)))
  Atomics.store(start, 0, 1)
  Atomics.notify(start, 0)
  t.is(new Set(await Promise.all(ids)).size, 1)
  t.deepEqual(readdirSync(join(path, '..')), ['keyring.json'])
  await Promise.all(workers.map((worker) => worker.terminate()))
})

const withNewKey = (content: KeyringContent): KeyringContent => {
  const added = withAddedKey(content)
  return withCurrentKey(added, waitingKeyOf(added) ?? '', new Date())
}

test('an added key seals nothing until it is made the current one', (t) => {
  const first = newKeyring()
  const added = withAddedKey(first)
  t.is(waitingKeyOf(first), undefined)
  t.is(waitingKeyOf(added), added.keys[1]?.id)
  t.is(openKeyring(added).wrapper.currentKeyId, first.currentKeyId)
})

test('a new key becomes the current one and the old stay', (t) => {
  const first = newKeyring()
  const second = withNewKey(first)
  const opened = openKeyring(second)
  t.not(second.currentKeyId, first.currentKeyId)
  t.deepEqual(opened.keyIds, [first.currentKeyId, second.currentKeyId])
  t.is(opened.wrapper.currentKeyId, second.currentKeyId)
})

const ring = newKeyring()
const box = makeSecretBox(openKeyring(ring).wrapper)
const place: SealedPlace = { table: 'clusters', column: 'kubeconfig', tenantId: 7, rowRef: 'a1b2' }
const wellFormed = fc.string({ unit: 'grapheme' })
const places = fc.record({ table: wellFormed, column: wellFormed, tenantId: fc.nat(), rowRef: wellFormed })

test('a sealed value opens only in its column and row', async (t) => {
  await fc.assert(
    fc.asyncProperty(wellFormed, places, async (text, at) => {
      const opened = await box.open(await box.seal(secret(text), at), at)
      return opened.reveal() === text
    }),
  )
  t.pass()
})

test('any changed byte is refused', async (t) => {
  const sealed = await box.seal(secret('the token'), place)
  for (const [index] of sealed.entries()) {
    const changed = Uint8Array.from(sealed)
    changed[index] = (changed[index] ?? 0) ^ 1
    await t.throwsAsync(box.open(changed, place), undefined, `byte ${index}`)
  }
})

test('any cut is refused', async (t) => {
  const sealed = await box.seal(secret('the token'), place)
  for (let length = 0; length < sealed.length; length += 1) {
    await t.throwsAsync(box.open(sealed.slice(0, length), place), undefined, `length ${length}`)
  }
})

test('a value opens at no other place, also where the parts only join to the same text', async (t) => {
  const sealed = await box.seal(secret('the token'), place)
  const others: readonly SealedPlace[] = [
    { ...place, tenantId: 8 },
    { ...place, rowRef: 'a1b3' },
    { ...place, column: 'token' },
    { ...place, table: 'clustersk', column: 'ubeconfig' },
    { ...place, tenantId: 77, rowRef: 'a1b2' },
  ]
  for (const other of others) await t.throwsAsync(box.open(sealed, other))
})

test('the same value is sealed differently each time', async (t) => {
  const [one, two] = await Promise.all([box.seal(secret('x'), place), box.seal(secret('x'), place)])
  t.notDeepEqual(one, two)
})

test('rewrapping moves to the current key and leaves the value untouched', async (t) => {
  const sealed = await box.seal(secret('the token'), place)
  const grown = withNewKey(ring)
  const later = makeSecretBox(openKeyring(grown).wrapper)
  const rewrapped = await later.rewrap(sealed)
  t.is(later.keyIdOf(sealed), ring.currentKeyId)
  t.is(later.keyIdOf(rewrapped), grown.currentKeyId)
  t.deepEqual(rewrapped.slice(-30), sealed.slice(-30))
  t.is((await later.open(rewrapped, place)).reveal(), 'the token')
  t.is((await later.open(sealed, place)).reveal(), 'the token')
  const onlyNew = openKeyring({ ...grown, keys: grown.keys.slice(1) }).wrapper
  t.is((await makeSecretBox(onlyNew).open(rewrapped, place)).reveal(), 'the token')
  await t.throwsAsync(makeSecretBox(onlyNew).open(sealed, place), { message: new RegExp(ring.currentKeyId) })
})

test('nothing of the value is in the box, and the overhead is small', async (t) => {
  const text = 'a kubeconfig with a client key'
  const sealed = await box.seal(secret(text), place)
  t.false(Buffer.from(sealed).includes(text.slice(0, 8)))
  t.true(sealed.length - text.length <= 92 + ring.currentKeyId.length)
})
