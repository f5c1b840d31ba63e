import test from 'ava'
import fc from 'fast-check'
import { newKeyring, openKeyring, withNewKey } from '../../adapters/security/keyring.ts'
import { makeSecretBox } from '../../adapters/security/secret-box.ts'
import { secret } from '../../core/kernel/secret.ts'
import type { SealedPlace } from '../../core/kernel/secret.ts'

const ring = newKeyring()
const box = makeSecretBox(openKeyring(ring).wrapper)
const place: SealedPlace = { table: 'clusters', column: 'kubeconfig', tenantId: 7, rowRef: 'a1b2' }
const wellFormed = fc.string({ unit: 'grapheme' })
const places = fc.record({ table: wellFormed, column: wellFormed, tenantId: fc.nat(), rowRef: wellFormed })

test('what was sealed opens at its place', async (t) => {
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
