// process: waiting - uses components
import { BusIdentityStorePort } from '../../core/bus/ports.ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import { needing } from '../support/components/needing.ts'
import { until } from '../support/until.ts'
import {
  closeClients,
  connectWith,
  credentialsFrom,
  newPerson,
  startBusFixture,
  type BusFixture,
} from './bus-fixture.ts'

const test = needing('nats', 'mariadb')

let fixture: BusFixture
test.before(async () => {
  fixture = await startBusFixture('mysql')
})
test.after.always(async () => {
  await closeClients()
  await fixture?.stop()
})

test('two instances leave one bus account with the latest claims', async (t) => {
  const { service } = fixture
  const other = await fixture.second()
  await credentialsFrom(other, 'credentials', service.adminToken)
  const person = await newPerson(service)
  const given = await Promise.all(
    Array.from({ length: 8 }, (_, turn) =>
      credentialsFrom(turn % 2 === 0 ? service : other, 'credentials', person.token),
    ),
  )
  const open = await Promise.all(given.map(connectWith))
  const tokens = (await service.send('GET', '/api/v1/user/settings/tokens/bus-tokens', { token: person.token }))
    .json as { id: number }[]
  t.is(tokens.length, 8)
  const answers = await Promise.all(
    tokens.map(({ id }, turn) =>
      (turn % 2 === 0 ? service : other).send('POST', `/api/v1/user/settings/tokens/bus-tokens/${id}/revoke`, {
        token: person.token,
      }),
    ),
  )
  t.deepEqual(
    answers.map(({ status }) => status),
    tokens.map(() => 200),
  )
  await Promise.all(open.map((each) => each.closed()))
  for (const each of given) await t.throwsAsync(connectWith(each), { message: /authori[sz]ation|authentication/i })
  const find = () => service.running.container.resolve(BusIdentityStorePort).find('account', person.id as AccountId)
  await until('the server has the last claims', async () =>
    (await find())?.pushedRevision === (await find())?.revision ? true : undefined,
  )
})
