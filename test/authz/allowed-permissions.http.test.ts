import test from 'ava'
import type { ExecutionContext } from 'ava'
import { eachDatabase } from '../support/databases.ts'
import { nameOf } from './account-names.ts'
import type { FixtureService } from './fixture-service.ts'
import { people, served, startFixtureService } from './fixture-service.ts'

const org = nameOf(served.org)
const batch = `/api/v1/authz/objects/allowed-permissions?org=${org}`
const single = (type: string, id: string | number): string =>
  `/api/v1/authz/objects/${type}/${id}/allowed-permissions?org=${org}`
const cluster = { objectType: 'cluster', objectID: 611_001 }
const everyClusterRelation = [
  'can_connect',
  'can_delete',
  'can_edit',
  'can_reconfigure',
  'can_remove',
  'can_view',
  'can_view_accessconfig',
]

for (const { name: database } of eachDatabase()) {
  // Nothing here changes the fixture, so one service serves all cases.
  let service: FixtureService
  test.before(async () => {
    service = await startFixtureService(database)
  })
  test.after.always(() => service.stop())
  const onService = (title: string, run: (t: ExecutionContext, service: FixtureService) => Promise<void>): void =>
    test(`${database}: ${title}`, (t) => run(t, service))

  onService('answers are in the order of the questions, including repeats and foreign objects', async (t, service) => {
    const token = await service.tokenOf(people.viewer)
    const unknown = { objectType: 'team', objectID: 2n ** 63n - 1n }
    const questions = [
      cluster,
      { objectType: 'cluster', objectID: 621_001 },
      { objectType: 'contract', objectID: 1 },
      cluster,
      { objectType: 'user', objectID: people.viewer },
    ]
    const body = `[${questions.map((one) => JSON.stringify(one)).join()},{"objectType":"team","objectID":${unknown.objectID}}]`
    const answer = await service.send('POST', batch, { token, body, headers: { 'Content-Type': 'application/json' } })
    t.is(answer.status, 200)
    t.deepEqual(answer.json.slice(0, 5), [
      { ...cluster, allowedPermissions: ['can_view'] },
      { ...questions[1], allowedPermissions: [] },
      { ...questions[2], allowedPermissions: [] },
      { ...cluster, allowedPermissions: ['can_view'] },
      { ...questions[4], allowedPermissions: ['can_edit', 'can_view'] },
    ])
    t.true(answer.text.includes('{"objectType":"team","objectID":9223372036854775807,"allowedPermissions":[]}'))
  })

  onService('one object answers the same alone as in a batch', async (t, service) => {
    for (const userId of [people.owner, people.admin, people.viewer]) {
      const token = await service.tokenOf(userId)
      const questions = [
        cluster,
        { objectType: 'organization', objectID: served.org },
        { objectType: 'organization', objectID: served.otherOrg },
        { objectType: 'team', objectID: 613 },
        { objectType: 'token', objectID: 7001 },
        { objectType: 'robot_ac', objectID: 5 },
      ]
      const together = await service.send('POST', batch, { token, body: questions })
      const alone = await Promise.all(
        questions.map((one) => service.send('GET', single(one.objectType, one.objectID), { token })),
      )
      t.deepEqual(
        together.json,
        alone.map(({ json }) => json),
      )
    }
  })

  onService('an owner, a site admin and a read token hold what they should', async (t, service) => {
    const ask = async (token: string) =>
      (await service.send('POST', batch, { token, body: [cluster] })).json[0].allowedPermissions
    t.deepEqual(await ask(await service.tokenOf(people.owner)), everyClusterRelation)
    t.deepEqual(await ask(service.adminToken), everyClusterRelation)
    t.deepEqual(await ask(await service.tokenOf(people.owner, ['read:authz', 'read:cluster'])), [
      'can_view',
      'can_view_accessconfig',
    ])
    t.deepEqual(await ask(await service.tokenOf(people.owner, ['read:authz'])), [])
  })

  onService('sudo is answered as the other person, and only for a site admin', async (t, service) => {
    const url = `${batch}&sudo=${nameOf(people.viewer)}`
    const answer = await service.send('POST', url, { token: service.adminToken, body: [cluster] })
    t.deepEqual(answer.json, [{ ...cluster, allowedPermissions: ['can_view'] }])
    t.is((await service.send('POST', url, { token: await service.tokenOf(people.owner), body: [cluster] })).status, 403)
  })

  onService('in the own account the objects are one’s own', async (t, service) => {
    const token = await service.tokenOf(people.owner)
    const own = { objectType: 'cluster', objectID: 511_001 }
    const url = `/api/v1/authz/objects/allowed-permissions?org=${nameOf(people.owner)}`
    const answer = await service.send('POST', url, { token, body: [own, cluster] })
    t.deepEqual(answer.json, [
      { ...own, allowedPermissions: everyClusterRelation },
      { ...cluster, allowedPermissions: [] },
    ])
    t.is((await service.send('POST', url, { token: await service.tokenOf(people.admin), body: [own] })).status, 403)
  })

  onService('a bad element refuses the batch and is named by its index', async (t, service) => {
    const token = await service.tokenOf(people.owner)
    const bad: readonly string[] = [
      '{"objectType":"role","objectID":1}',
      '{"objectType":"Cluster","objectID":1}',
      '{"objectType":7,"objectID":1}',
      '{"objectType":"cluster","objectID":0}',
      '{"objectType":"cluster","objectID":-1}',
      '{"objectType":"cluster","objectID":1.5}',
      '{"objectType":"cluster","objectID":1.0}',
      '{"objectType":"cluster","objectID":"1"}',
      '{"objectType":"cluster","objectID":null}',
      '{"objectType":"cluster","objectID":9223372036854775808}',
      `{"objectType":"user","objectID":${people.admin}}`,
    ]
    for (const element of bad) {
      const body = `[{"objectType":"cluster","objectID":1},${element}]`
      const answer = await service.send('POST', batch, { token, body })
      t.is(answer.status, 400, element)
      t.regex(answer.json.message, /element 1/, element)
    }
  })

  onService(
    'a body that is not a list of pairs is 422; at most 500; an empty list is an answer',
    async (t, service) => {
      const token = await service.tokenOf(people.owner)
      const many = (count: number) =>
        Array.from({ length: count }, (_, index) => ({ objectType: 'cluster', objectID: index + 1 }))
      for (const body of ['{}', '"x"', 'null', '[1]', '[{}]', '[{"objectType":"cluster"}]', '[{"objectID":1}]']) {
        t.is((await service.send('POST', batch, { token, body })).status, 422, body)
      }
      t.is((await service.send('POST', batch, { token, body: many(501) })).status, 422)
      t.is((await service.send('POST', batch, { token, body: many(500) })).json.length, 500)
      const none = await service.send('POST', batch, { token, body: [] })
      t.deepEqual([none.status, none.json], [200, []])
    },
  )

  onService('a path that names nothing valid is 400', async (t, service) => {
    const token = await service.tokenOf(people.owner)
    for (const url of [
      single('role', 1),
      single('x', 1),
      single('cluster', 0),
      single('cluster', '-1'),
      single('cluster', 'x'),
      single('cluster', '9223372036854775808'),
      single('user', people.admin),
    ]) {
      const answer = await service.send('GET', url, { token })
      t.is(answer.status, 400, url)
      t.is(typeof answer.json.message, 'string')
    }
    const beyond = await service.send('GET', single('cluster', '9223372036854775807'), { token })
    t.is(beyond.status, 200)
    t.true(beyond.text.includes('"objectID":9223372036854775807'))
  })

  onService(
    'an outsider gets 403, whether the organization exists or not; without credentials 401',
    async (t, service) => {
      const token = await service.tokenOf(people.owner)
      for (const name of [nameOf(served.otherOrg), nameOf(served.openOrg), nameOf(people.admin), 'nobody']) {
        t.is((await service.send('GET', single('cluster', 1).replace(org, name), { token })).status, 403, name)
        t.is((await service.send('POST', batch.replace(org, name), { token, body: [] })).status, 403, name)
      }
      t.is((await service.send('POST', batch, { body: [] })).status, 401)
      t.is((await service.send('POST', batch.replace(`?org=${org}`, ''), { token, body: [] })).status, 400)
    },
  )
}
