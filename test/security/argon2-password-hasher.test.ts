import { readdirSync, readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { hash } from '@node-rs/argon2'
import test from 'ava'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { hashingConcurrency, makeArgon2PasswordHasher } from '../../adapters/security/argon2-password-hasher.ts'
import { makeWorkQueue } from '../../adapters/security/work-queue.ts'
import { secret } from '../../core/kernel/secret.ts'

const hasher = makeArgon2PasswordHasher()
const rightOf = async <A>(outcome: Promise<{ _tag: 'Right'; right: A } | { _tag: 'Left' }>): Promise<A> => {
  const answer = await outcome
  if (answer._tag === 'Left') throw new Error('expected a Right')
  return answer.right
}

test('a password matches its hash and no other does, to the last character', async (t) => {
  const phc = await rightOf(hasher.hash(secret('correct horse battery')))
  t.regex(phc, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
  t.true(await rightOf(hasher.verify(phc, secret('correct horse battery'))))
  t.false(await rightOf(hasher.verify(phc, secret('correct horse batterY'))))
  t.false(await rightOf(hasher.verify(phc, secret('correct horse battery '))))
})

test('nothing is cut: passwords that differ only at the end of 256 characters differ', async (t) => {
  const long = 'ö'.repeat(255)
  const phc = await rightOf(hasher.hash(secret(`${long}a`)))
  t.false(await rightOf(hasher.verify(phc, secret(`${long}b`))))
})

test('a malformed hash is no match and wants a new one', async (t) => {
  for (const phc of ['', 'plain', '$argon2id$v=19$m=1', '$2b$10$abcdefghijklmnopqrstuv']) {
    t.false(await rightOf(hasher.verify(phc, secret('x'))))
    t.true(hasher.needsRehash(phc))
  }
})

test('hashes of other parameters want a new one', async (t) => {
  t.false(hasher.needsRehash(await rightOf(hasher.hash(secret('x')))))
  t.true(hasher.needsRehash(await hash('x', { algorithm: 2, memoryCost: 12_288, timeCost: 3, parallelism: 1 })))
  t.true(hasher.needsRehash(await hash('x', { algorithm: 1, memoryCost: 19_456, timeCost: 2, parallelism: 1 })))
})

test('the dummy hash has the current parameters and matches nothing', async (t) => {
  const phc = await hasher.dummyPhc()
  t.false(hasher.needsRehash(phc))
  t.is(phc, await hasher.dummyPhc())
  t.not(phc, await makeArgon2PasswordHasher().dummyPhc())
  t.false(await rightOf(hasher.verify(phc, secret(''))))
})

test('when the queue is full the answer is TooManyAttempts with a time to retry', async (t) => {
  const narrow = makeArgon2PasswordHasher(makeWorkQueue({ concurrency: 1, maxWaiting: 1 }))
  const answers = await Promise.all([1, 2, 3].map(() => narrow.hash(secret('x'))))
  t.is(answers.filter(isRight).length, 2)
  const refused = answers.find(isLeft)
  t.is(refused?.left.tag, 'TooManyAttempts')
  t.is(refused?.left.retryAfterSeconds, 1)
  t.true(isRight(await narrow.hash(secret('x'))))
})

test('never more than two at once, and one on a machine with one core', (t) => {
  t.deepEqual([1, 2, 3, 64].map((cores) => hashingConcurrency(cores)), [1, 2, 2, 2])
})

test('hashes and checks that run side by side get their own answers', async (t) => {
  const words = ['quay', 'mole', 'pier', 'dock', 'slip', 'berth']
  const phcs = await Promise.all(words.map((word) => rightOf(hasher.hash(secret(word)))))
  const matches = await Promise.all(words.map((word, index) => rightOf(hasher.verify(phcs[(index + 1) % words.length] ?? '', secret(word)))))
  t.deepEqual(matches, words.map(() => false))
  const own = await Promise.all(words.map((word, index) => rightOf(hasher.verify(phcs[index] ?? '', secret(word)))))
  t.deepEqual(own, words.map(() => true))
})

test('on Linux the hashing threads yield to the rest of the process', async (t) => {
  if (process.platform !== 'linux') return t.pass('priorities of threads are a matter of Linux')
  await rightOf(hasher.hash(secret('x')))
  const niceness = readdirSync('/proc/self/task').map((thread) => Number(readFileSync(`/proc/self/task/${thread}/stat`, 'utf8').split(') ')[1]?.split(' ')[16]))
  t.true(niceness.includes(10), niceness.join())
  t.is(niceness[0], getPriority(process.pid))
})
