import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import test from 'ava'
import { KeyringUnusable, openOrMakeKeyringFile, readKeyringFile, newKeyring, openKeyring, withNewKey } from '../../adapters/security/keyring.ts'

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
  const module = JSON.stringify(new URL('../../adapters/security/keyring.ts', import.meta.url).href)
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

test('a new key becomes the current one and the old stay', (t) => {
  const first = newKeyring()
  const second = withNewKey(first)
  const opened = openKeyring(second)
  t.not(second.currentKeyId, first.currentKeyId)
  t.deepEqual(opened.keyIds, [first.currentKeyId, second.currentKeyId])
  t.is(opened.wrapper.currentKeyId, second.currentKeyId)
})
