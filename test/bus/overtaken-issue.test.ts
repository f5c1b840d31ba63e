import test from 'ava'
import { right } from 'fp-ts/lib/Either.js'
import { makeNatsMint } from '../../adapters/bus/nats-mint.ts'
import { makeIssueCredentials } from '../../core/bus/credentials.ts'
import type { IssueDeps } from '../../core/bus/credentials.ts'
import { BusIdentityStoreToken, BusUnitOfWorkToken, BusUserStoreToken } from '../../core/bus/ports.ts'
import { AuthenticatorToken } from '../../core/identity/ports.ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import { ClockToken } from '../../core/kernel/clock.ts'
import { secret } from '../../core/kernel/secret.ts'
import { callOf } from '../sql/call.ts'
import { tagOf, unwrap } from '../support/outcome.ts'
import { plantBusToken } from '../support/plant-bus-token.ts'
import { startService, type TestService } from '../support/service.ts'
import { newPerson } from './bus-world.ts'

let service: TestService
test.before(async () => {
  service = await startService()
})
test.after.always(() => service?.stop())

test('nothing is issued for a token that was deleted while its account on the bus was opened', async (t) => {
  const { container } = service.running
  const person = await newPerson(service)
  const authenticated = await container.resolve(AuthenticatorToken).authenticate({ kind: 'token', token: secret(person.token) }, undefined, '192.0.2.1')
  const principal = unwrap(authenticated)
  await plantBusToken(service, person.id)
  const account = await container.resolve(BusIdentityStoreToken).find('account', person.id as AccountId)
  if (account === undefined) throw new Error('no account was planted')
  const issued = () => container.resolve(BusUserStoreToken).list(person.id as AccountId, { page: 1, limit: 50 })
  const before = (await issued()).total
  const issue = makeIssueCredentials({
    clock: container.resolve(ClockToken),
    unitOfWork: container.resolve(BusUnitOfWorkToken),
    identities: container.resolve(BusIdentityStoreToken),
    mint: makeNatsMint(container.resolve(ClockToken)),
    server: { isConfigured: true, endpoints: [] },
    openAccount: async () => {
      const path = `/api/v1/users/${person.username}/tokens/${principal.tokenId}`
      const deleted = await service.send('DELETE', path, { basic: [person.username, person.password] })
      t.is(deleted.status, 204, deleted.text)
      return right(account)
    },
  } as unknown as IssueDeps)
  const input = { ownerId: person.id as AccountId, login: person.username, purpose: 'own', lifeSeconds: 60 } as const
  t.is(tagOf(await issue({ ...callOf(), principal }, input)), 'BusRefused')
  t.is((await issued()).total, before)
})
