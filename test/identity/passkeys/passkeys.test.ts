import test from 'ava'
import fc from 'fast-check'
import { makeSimpleWebAuthn, relyingPartyAt } from '../../../adapters/security/webauthn.ts'
import { judgeCounter } from '../../../core/identity/passkeys/assertions.ts'
import { makeRegisterPasskey, makeRemovePasskey, makeRequestPasskey } from '../../../core/identity/passkeys/passkeys.ts'
import { declareSuite } from '../../support/declare-suite.ts'
import { eachDatabase } from '../../support/databases.ts'
import { callBy, makeIdentityFixture } from '../identity-fixture.ts'
import { unwrap } from '../../support/outcome.ts'
import { makeSoftwareAuthenticator } from './software-authenticator.ts'
import { passkeyStoreSuite } from './passkey-store.suite.ts'

for (const database of eachDatabase()) {
  declareSuite(passkeyStoreSuite, database.name, async () => {
    const db = await database.open()
    const fixture = makeIdentityFixture(db)
    const [ada, bob] = [await fixture.user('ada'), await fixture.user('bob')]
    const { passkeys, secondFactors, users } = fixture.deps.stores
    return {
      store: passkeys,
      secondFactors,
      ada: ada.id,
      bob: bob.id,
      removeUser: (id) => users.remove(id),
      close: () => db.close(),
    }
  })
}

test('passkeys need a base URL with a host name that is encrypted or local', (t) => {
  for (const [baseUrl, id] of [
    ['https://platform.example', 'platform.example'],
    ['https://platform.example:8443', 'platform.example'],
    ['http://localhost:3000', 'localhost'],
    ['http://platform.example', undefined],
    ['https://192.0.2.1', undefined],
    ['https://[2001:db8::1]', undefined],
    [undefined, undefined],
  ] as const)
    t.is(relyingPartyAt(baseUrl)?.id, id, baseUrl)
})

test('a counter is refused only if it does not advance for a key on one device', (t) => {
  const counters = fc.integer({ min: 0, max: 2 ** 32 - 1 })
  fc.assert(
    fc.property(counters, counters, fc.boolean(), (counter, presented, isBackedUp) => {
      const verdict = judgeCounter({ counter, isBackedUp }, presented)
      const isForward = presented > counter || (presented === 0 && counter === 0)
      return verdict === (isForward ? 'advanced' : isBackedUp ? 'back' : 'copied')
    }),
  )
  t.is(judgeCounter({ counter: 7, isBackedUp: true }, 0), 'back')
  t.is(judgeCounter({ counter: 7, isBackedUp: false }, 7), 'copied')
})

test('invalid responses have no challenge and verify as nothing', async (t) => {
  const webAuthn = makeSimpleWebAuthn('https://platform.example')
  const party = { id: 'platform.example', origin: 'https://platform.example' }
  const text = fc.string({ maxLength: 40 })
  await fc.assert(
    fc.asyncProperty(text, text, text, text, async (id, clientDataJSON, authenticatorData, signature) => {
      const response = {
        id,
        rawId: id,
        response: { clientDataJSON, authenticatorData, signature, userHandle: undefined },
      }
      const key = { credentialId: id, publicKey: new Uint8Array([1]), handle: new Uint8Array(32) }
      t.is(webAuthn.challengeOf(response), undefined)
      t.is(await webAuthn.verifyAssertion(party, response, 'challenge', key), undefined)
      const created = {
        id,
        rawId: id,
        response: { clientDataJSON, attestationObject: authenticatorData, transports: [] },
      }
      t.is(await webAuthn.verifyRegistration(party, created, 'challenge'), undefined)
    }),
    { numRuns: 50 },
  )
})

test('adding and removing a passkey are recorded in the log of its user and mailed', async (t) => {
  const [database] = eachDatabase()
  const db = await database!.open()
  t.teardown(() => db.close())
  const fixture = makeIdentityFixture(db)
  const { deps } = fixture
  const call = callBy(await fixture.user('ada'))
  const authenticator = makeSoftwareAuthenticator({ origin: deps.settings.baseUrl() })
  const proof = { password: undefined, passCode: undefined }
  const options = unwrap(await makeRequestPasskey(deps)(call, { name: ' Laptop ', proof }))
  const response = authenticator.create(options as never)
  const { passkey } = unwrap(await makeRegisterPasskey(deps)(call, response))
  const again = callBy(await deps.stores.users.byLogin('ada').then((user) => user!))
  unwrap(await makeRemovePasskey(deps)(again, { id: passkey.id, proof }))
  const rows = (await fixture.auditRows()).filter(({ action }) => action.startsWith('passkey.'))
  t.deepEqual(
    rows.map(({ action, changes }) => [action, (JSON.parse(changes) as { passkey: string }).passkey]),
    [
      ['passkey.added', 'Laptop'],
      ['passkey.removed', 'Laptop'],
    ],
  )
  t.deepEqual(
    fixture.posted.slice(-2).map(({ subject }) => subject),
    ['A passkey was added', 'A passkey was removed'],
  )
  t.regex(fixture.posted.at(-1)?.paragraphs.join(' ') ?? '', /the password alone signs in/)
})

test('a registration is not finished after five minutes', async (t) => {
  const [database] = eachDatabase()
  const db = await database!.open()
  t.teardown(() => db.close())
  const fixture = makeIdentityFixture(db)
  const { deps } = fixture
  const call = callBy(await fixture.user('ada'))
  const authenticator = makeSoftwareAuthenticator({ origin: deps.settings.baseUrl() })
  const proof = { password: undefined, passCode: undefined }
  const options = unwrap(await makeRequestPasskey(deps)(call, { name: 'Laptop', proof }))
  fixture.passSeconds(300)
  const late = await makeRegisterPasskey(deps)(call, authenticator.create(options as never))
  t.is(late._tag === 'Left' ? late.left.tag : undefined, 'RegistrationInvalid')
})
