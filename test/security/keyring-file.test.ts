import { chmodSync, lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import {
  changeKeyringFile,
  KeyringUnusable,
  openOrMakeKeyringFile,
  readKeyringContent,
} from '../../adapters/security/keyring-file.ts'
import { followKeyringFile } from '../../adapters/security/keyring-in-use.ts'
import {
  keyIdAtStart,
  makeSecretBox,
  newKeyring,
  startOfSealedBy,
  waitingKeyOf,
  withAddedKey,
  withCurrentKey,
  withoutKey,
} from '../../adapters/security/keyring.ts'
import { secret } from '../../core/kernel/secret.ts'

const folder = mkdtempSync(join(tmpdir(), 'moorage-keyring-file-'))
test.after.always(() => rmSync(folder, { recursive: true, force: true }))
let count = 0
const freshPath = (): string => {
  const path = join(mkdtempSync(join(folder, `ring-${(count += 1)}-`)), 'keyring.json')
  openOrMakeKeyringFile(path)
  return path
}
const contentOf = (path: string) => {
  const content = readKeyringContent(path)
  if (content === undefined) throw new Error('no key ring')
  return content
}
const rotate = (path: string): string => {
  const key = waitingKeyOf(changeKeyringFile(path, withAddedKey)) ?? ''
  changeKeyringFile(path, (content) => withCurrentKey(content, key, new Date()))
  return key
}
const place = { table: 'clusters', column: 'sealed_credential', tenantId: 7, rowRef: 'a1b2' }

test('a change keeps the mode, leaves no other file, and is whole', (t) => {
  const path = freshPath()
  chmodSync(path, 0o640)
  const before = contentOf(path)
  changeKeyringFile(path, withAddedKey)
  t.is(statSync(path).mode & 0o777, 0o640)
  t.deepEqual(readdirSync(join(path, '..')), ['keyring.json'])
  const after = contentOf(path)
  t.is(after.keys.length, 2)
  t.deepEqual({ ...after, keys: after.keys.slice(0, 1) }, before)
})

test('a symbolic link stays, and the file behind it is replaced', (t) => {
  const path = freshPath()
  const link = join(folder, 'link.json')
  symlinkSync(path, link)
  changeKeyringFile(link, withAddedKey)
  t.true(lstatSync(link).isSymbolicLink())
  t.is(contentOf(path).keys.length, 2)
})

test('a change that is no key ring is refused, and the file stays', (t) => {
  const path = freshPath()
  const before = readFileSync(path, 'utf8')
  t.throws(() => changeKeyringFile(path, (content) => withoutKey(content, content.currentKeyId)))
  t.throws(() => changeKeyringFile(join(folder, 'none.json'), withAddedKey), { instanceOf: KeyringUnusable })
  t.is(readFileSync(path, 'utf8'), before)
})

test('a running process uses a new key at once', async (t) => {
  const path = freshPath()
  const old = contentOf(path).currentKeyId
  const [one, other] = [0, 1].map(() => makeSecretBox(followKeyringFile(path, openOrMakeKeyringFile(path)).wrapper))
  const before = await one!.seal(secret('before'), place)
  t.is(one!.keyIdOf(before), old)
  const key = rotate(path)
  const after = await one!.seal(secret('after'), place)
  t.is(one!.keyIdOf(after), key)
  t.is((await other!.open(after, place)).reveal(), 'after')
  t.is((await other!.open(before, place)).reveal(), 'before')
  changeKeyringFile(path, (content) => withoutKey(content, old))
  t.is(other!.keyIdOf(await other!.rewrap(after)), key)
  await t.throwsAsync(other!.open(before, place), { message: new RegExp(old) })
})

test('a missing, damaged or foreign key file changes nothing and is logged', async (t) => {
  const path = freshPath()
  const ring = followKeyringFile(path, openOrMakeKeyringFile(path))
  const box = makeSecretBox(ring.wrapper)
  const { currentKeyId } = contentOf(path)
  t.deepEqual(await ring.refresh(), { sealingKey: currentKeyId, newestKey: currentKeyId, trouble: undefined })
  for (const [change, told] of [
    [() => rmSync(path), /is not there/],
    [() => writeFileSync(path, '{"version": 1', { mode: 0o600 }), /is not JSON/],
    [() => writeFileSync(path, JSON.stringify(newKeyring()), { mode: 0o600 }), /other data/],
  ] as const) {
    change()
    t.regex((await ring.refresh()).trouble ?? '', told)
    const value = await box.seal(secret('x'), place)
    t.is(box.keyIdOf(value), currentKeyId)
    t.is((await box.open(value, place)).reveal(), 'x')
  }
})

test('the key of a value is read from its start', async (t) => {
  const path = freshPath()
  const { currentKeyId } = contentOf(path)
  const value = await makeSecretBox(openOrMakeKeyringFile(path).wrapper).seal(secret(''), place)
  const start = startOfSealedBy(currentKeyId)
  t.deepEqual(Buffer.from(value.subarray(0, start.length)), Buffer.from(start))
  t.is(keyIdAtStart(value), currentKeyId)
  for (const bytes of [[], [1], [2, 1, 65], [1, 0, 65], [1, 3, 65], [1, 1, 0]])
    t.is(keyIdAtStart(Uint8Array.from(bytes)), undefined)
})
