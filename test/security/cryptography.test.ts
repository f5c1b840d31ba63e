import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import test from 'ava'

const root = fileURLToPath(new URL('../../', import.meta.url))
const product = ['core', 'plugins', 'adapters', 'composition']
  .flatMap((folder) => readdirSync(root + folder, { recursive: true, encoding: 'utf8' }).map((path) => `${folder}/${path}`))
  .filter((path) => path.endsWith('.ts'))
  .map((path) => ({ path, text: readFileSync(root + path, 'utf8') }))

const all = (pattern: RegExp): readonly string[] => [...new Set(product.flatMap(({ text }) => [...text.matchAll(pattern)].map((match) => match[1] ?? '')))].toSorted()

test('one cipher, one hash function, two kinds of signing keys, and no random number but the system’s', (t) => {
  t.deepEqual(all(/'((?:aes|aria|camellia|chacha20|des|rc4|id-aes)-?\d*-[\w-]*)'/gi), ['aes-256-gcm'])
  t.deepEqual(all(/\b(?:createHash|createHmac|hkdfSync|hash)\('([\w-]+)'/g), ['sha256', 'sha512'], 'SHA-512 of npm packages alone, as npm notes them')
  t.deepEqual(all(/'((?:SHA-?|MD)\d+)'/g), ['SHA-256', 'SHA1'], 'SHA-1 of one-time codes alone, as RFC 6238 and every app have it')
  t.deepEqual(all(/'((?:RS|ES|PS|HS)\d{3}|P-\d{3}|none)'/g).filter((name) => name !== 'none'), ['ES256', 'P-256', 'RS256'])
  t.deepEqual(all(/\b(publicEncrypt|privateDecrypt|createDiffieHellman|pseudoRandomBytes)\b/g), [])
  const jitter = ['adapters/sql/engine/sqlite-database.ts', 'adapters/sql/engine/unit-of-work.ts', 'composition/service/jobs.ts']
  t.deepEqual(product.filter(({ text }) => text.includes('Math.random')).map(({ path }) => path).toSorted(), jitter, 'the length of waits alone')
})

test('docs/security.md names every file that uses cryptography', (t) => {
  const inventory = readFileSync(`${root}docs/security.md`, 'utf8')
  const users = product.filter(({ text }) => /from '(?:node:crypto|@node-rs\/argon2|@peculiar\/x509|jose|otpauth|@nats-io\/(?:jwt|nkeys))'/.test(text) && !/^import \{ randomUUID \} from 'node:crypto'$/m.test(text))
  t.true(users.length > 15)
  t.deepEqual(users.map(({ path }) => path).filter((path) => !inventory.includes(path)), [])
})
