// process: waiting - uses components
import type { ExecutionContext } from 'ava'
import { needing } from '../support/components/needing.ts'
import type { SendOptions, ServiceAnswer } from '../support/send-json.ts'
import type { Person, TwoInstances } from './two-instances.ts'
import { must, personPassword, startTwoInstances } from './two-instances.ts'

const test = needing('mariadb')

/**
 * What is given on one instance holds on the other, and what is taken away is gone on both at the very next request.
 */
let revocationFixture: TwoInstances
let revocationAda: Person
test.before(async () => {
  revocationFixture = await startTwoInstances()
  revocationAda = await revocationFixture.person('ada')
})
test.after.always(() => revocationFixture?.stop())

let revocationNamed = 0
const revocationName = (word: string): string => `${word}-${(revocationNamed += 1)}`
const revocationAs = ({ token }: Pick<Person, 'token'>, body?: unknown): SendOptions => ({
  token,
  ...(body === undefined ? {} : { body }),
})
const isDone = ({ status }: ServiceAnswer): boolean => status >= 200 && status < 300

const cookieOf = (signedIn: ServiceAnswer): SendOptions => ({
  headers: {
    Cookie: [signedIn.headers['set-cookie'] ?? []]
      .flat()
      .map((line) => line.split(';')[0])
      .join('; '),
  },
})
const signIn = async (login: string, instance: 0 | 1 = 0, password = personPassword): Promise<SendOptions> =>
  cookieOf(
    await must(
      200,
      revocationFixture.instances[instance].send('POST', '/api/v1/user/signin', {
        body: { username: login, password },
      }),
    ),
  )

/**
 * Each use works on both instances (asked twice, so that whatever keeps answers has them), `revoke` succeeds, and none
 * works any more.
 */
const endsAtOnce = async (
  t: ExecutionContext,
  uses: readonly (readonly [path: string, credential: SendOptions])[],
  revoke: () => Promise<ServiceAnswer>,
): Promise<void> => {
  for (const [path, credential] of [...uses, ...uses])
    for (const answer of await revocationFixture.both('GET', path, credential))
      t.true(isDone(answer), `before: ${path} ${answer.status} ${answer.text}`)
  const revoked = await revoke()
  t.true(isDone(revoked), `${revoked.status} ${revoked.text}`)
  for (const [path, credential] of uses)
    for (const answer of await revocationFixture.both('GET', path, credential))
      t.true([401, 403, 404].includes(answer.status), `after: ${path} ${answer.status} ${answer.text}`)
}

const me = '/api/v1/user'
const everyCredential = async (person: Person): Promise<readonly (readonly [string, SendOptions])[]> => [
  [me, revocationAs(person)],
  [me, await signIn(person.login, 0)],
  [me, await signIn(person.login, 1)],
  [me, { basic: [person.login, personPassword] }],
  [me, { basic: [person.login, person.token] }],
]

test('a token that is deleted', async (t) => {
  const person = await revocationFixture.person(revocationName('tok'))
  const made = await must(
    201,
    revocationFixture.instances[0].send('POST', `/api/v1/users/${person.login}/tokens`, {
      basic: [person.login, personPassword],
      body: { name: 'one', scopes: ['all'] },
    }),
  )
  await endsAtOnce(t, [[me, { token: made.json.sha1 }]], () =>
    revocationFixture.instances[1].send('DELETE', `/api/v1/users/${person.login}/tokens/${made.json.id}`, {
      basic: [person.login, personPassword],
    }),
  )
})

test('revoked and signed-out sessions end', async (t) => {
  const person = await revocationFixture.person(revocationName('ses'))
  const revoked = await signIn(person.login, 0)
  const [listed] = (
    await must(
      200,
      revocationFixture.instances[1].send('GET', '/api/v1/user/settings/security/sessions', revocationAs(person)),
    )
  ).json as { id: number }[]
  await endsAtOnce(t, [[me, revoked]], () =>
    revocationFixture.instances[1].send(
      'DELETE',
      `/api/v1/user/settings/security/sessions/${listed?.id}/revoke`,
      revocationAs(person),
    ),
  )
  const signedOut = await signIn(person.login, 1)
  await endsAtOnce(t, [[me, signedOut]], () =>
    revocationFixture.instances[0].send('GET', '/api/v1/user/signout', signedOut),
  )
})

const switchedOff: readonly (readonly [string, (person: Person) => Promise<ServiceAnswer>])[] = [
  [
    'inactive',
    ({ login }) =>
      revocationFixture.instances[0].send('PATCH', `/api/v1/admin/users/${login}`, {
        token: revocationFixture.adminToken,
        body: { active: false },
      }),
  ],
  [
    'prohibited',
    ({ login }) =>
      revocationFixture.instances[1].send('PATCH', `/api/v1/admin/users/${login}`, {
        token: revocationFixture.adminToken,
        body: { prohibit_login: true },
      }),
  ],
  [
    'self-deleted',
    (person) =>
      revocationFixture.instances[1].send('POST', '/api/v1/user/settings/account/delete', {
        ...revocationAs(person),
        body: { password: personPassword },
      }),
  ],
  [
    'deleted',
    ({ login }) =>
      revocationFixture.instances[0].send('DELETE', `/api/v1/admin/users/${login}`, {
        token: revocationFixture.adminToken,
      }),
  ],
]
for (const [what, switchOff] of switchedOff) {
  test(`a user who is ${what}: every credential ends, also after new attempts`, async (t) => {
    const person = await revocationFixture.person(revocationName(what))
    const uses = await everyCredential(person)
    await endsAtOnce(t, uses, () => switchOff(person))
    for (const answer of await revocationFixture.both('POST', '/api/v1/user/signin', {
      body: { username: person.login, password: personPassword },
    }))
      t.true([404, 405].includes(answer.status), answer.text)
    for (const [path, credential] of uses) {
      // The right password of an account that still exists is 403.
      const expected = credential.basic?.[1] === personPassword && what !== 'deleted' ? 403 : 401
      for (const answer of await revocationFixture.both('GET', path, credential)) t.is(answer.status, expected)
    }
  })
}

test('a changed password ends other sessions, and tokens on request', async (t) => {
  const person = await revocationFixture.person(revocationName('pass'))
  const [own, other] = [await signIn(person.login, 0), await signIn(person.login, 1)]
  const token =
    (own.headers?.['Cookie'] ?? '')
      .split('; ')
      .find((each) => each.startsWith('_csrf='))
      ?.slice('_csrf='.length) ?? ''
  const changing: SendOptions = {
    headers: { ...own.headers, 'X-Csrf-Token': decodeURIComponent(token) },
    body: {
      old_password: personPassword,
      password: 'another-lantern-over-water-18',
      retype: 'another-lantern-over-water-18',
      revoke_tokens: true,
    },
  }
  await endsAtOnce(
    t,
    [
      [me, other],
      [me, revocationAs(person)],
      [me, { basic: [person.login, personPassword] }],
    ],
    () => revocationFixture.instances[1].send('POST', '/api/v1/user/settings/account/password', changing),
  )
  for (const answer of await revocationFixture.both('GET', me, own))
    t.is(answer.status, 200, 'the session that changed it stays')
  for (const answer of await revocationFixture.both('GET', me, {
    basic: [person.login, 'another-lantern-over-water-18'],
  }))
    t.is(answer.status, 200)
})

test('a former site admin', async (t) => {
  const person = await revocationFixture.person(revocationName('adm'))
  const admin = (body: object) =>
    revocationFixture.instances[0].send('PATCH', `/api/v1/admin/users/${person.login}`, {
      token: revocationFixture.adminToken,
      body,
    })
  await must(200, admin({ admin: true }))
  await endsAtOnce(
    t,
    [
      ['/api/v1/admin/users', revocationAs(person)],
      ['/api/v1/admin/audit', revocationAs(person)],
      [`/api/v1/user?sudo=${revocationAda.login}`, revocationAs(person)],
    ],
    () => admin({ admin: false }),
  )
})

const rights = [
  { namespace: 'cluster_mgmt', action: 'view clusters' },
  { namespace: 'org_mgmt', action: 'view teams' },
]

/** An organization with a member whose only rights come from a role. */
const makeOrganization = async () => {
  const org = revocationName('org')
  const member = await revocationFixture.person(revocationName('mem'))
  const [a] = revocationFixture.instances
  const orgId = await revocationFixture.organization(revocationAda, org)
  const role = (
    await must(
      201,
      a.send(
        'POST',
        `/api/v1/authz/roles?org=${org}`,
        revocationAs(revocationAda, { name: 'looker', permissions: rights }),
      ),
    )
  ).json.id as number
  const team = (
    await must(
      201,
      a.send(
        'POST',
        `/api/v1/orgs/${org}/teams`,
        revocationAs(revocationAda, { name: 'lookers', permission: 'custom', assignedRoleIDs: [role] }),
      ),
    )
  ).json.id as number
  await must(204, a.send('PUT', `/api/v1/teams/${team}/members/${member.login}`, revocationAs(revocationAda)))
  const uses: readonly (readonly [string, SendOptions])[] = [
    [`/api/v1/clustersv2/${org}`, revocationAs(member)],
    [`/api/v1/orgs/${org}/teams`, revocationAs(member)],
  ]
  return { org, orgId, role, team, member, uses }
}

type Organization = Awaited<ReturnType<typeof makeOrganization>>
const takenAway: readonly (readonly [string, (organization: Organization) => Promise<ServiceAnswer>])[] = [
  [
    'a role that is deleted',
    ({ org, role }) =>
      revocationFixture.instances[1].send(
        'DELETE',
        `/api/v1/authz/roles/${role}?org=${org}`,
        revocationAs(revocationAda),
      ),
  ],
  [
    'a role that is detached',
    ({ org, role }) =>
      revocationFixture.instances[0].send(
        'PUT',
        `/api/v1/authz/roles/${role}?org=${org}`,
        revocationAs(revocationAda, { teamIDs: [] }),
      ),
  ],
  [
    'a role that loses its permissions',
    ({ org, role }) =>
      revocationFixture.instances[1].send(
        'PUT',
        `/api/v1/authz/roles/${role}?org=${org}`,
        revocationAs(revocationAda, { permissions: [{ namespace: 'org_mgmt', action: 'view members' }] }),
      ),
  ],
  [
    'a team that drops its roles',
    ({ team }) =>
      revocationFixture.instances[0].send(
        'PATCH',
        `/api/v1/teams/${team}`,
        revocationAs(revocationAda, { assignedRoleIDs: [] }),
      ),
  ],
  [
    'a member who leaves the team',
    ({ team, member }) =>
      revocationFixture.instances[1].send(
        'DELETE',
        `/api/v1/teams/${team}/members/${member.login}`,
        revocationAs(revocationAda),
      ),
  ],
  [
    'a team that is deleted',
    ({ team }) => revocationFixture.instances[0].send('DELETE', `/api/v1/teams/${team}`, revocationAs(revocationAda)),
  ],
  [
    'a member who is removed',
    ({ org, member }) =>
      revocationFixture.instances[1].send(
        'DELETE',
        `/api/v1/orgs/${org}/members/${member.login}`,
        revocationAs(revocationAda),
      ),
  ],
  [
    'an organization that is deleted',
    ({ org }) => revocationFixture.instances[0].send('DELETE', `/api/v1/orgs/${org}`, revocationAs(revocationAda)),
  ],
]
for (const [what, takeAway] of takenAway) {
  test(what, async (t) => {
    const organization = await makeOrganization()
    await endsAtOnce(t, organization.uses, () => takeAway(organization))
    const asked = await revocationFixture.both(
      'POST',
      `/api/v1/authz/objects/allowed-permissions?org=${organization.org}`,
      revocationAs(organization.member, [{ objectType: 'organization', objectID: organization.orgId }]),
    )
    for (const answer of asked)
      if (isDone(answer)) t.false(/view teams|view_teams|view clusters/.test(answer.text), answer.text)
  })
}

interface RobotOf extends Organization {
  readonly robot: string
}
const robotEndings: readonly (readonly [string, (robot: RobotOf) => Promise<ServiceAnswer>])[] = [
  [
    'a robot account that is disabled',
    ({ robot }) => revocationFixture.instances[1].send('PATCH', robot, revocationAs(revocationAda, { active: false })),
  ],
  [
    'a robot account that leaves its teams',
    ({ robot }) => revocationFixture.instances[0].send('PATCH', robot, revocationAs(revocationAda, { team_ids: [] })),
  ],
  [
    'a robot account that is deleted',
    ({ robot }) => revocationFixture.instances[0].send('DELETE', robot, revocationAs(revocationAda)),
  ],
  [
    'a limit on the life of tokens that a robot account exceeds',
    ({ org }) =>
      revocationFixture.instances[1].send(
        'PATCH',
        `/api/v1/orgs/${org}/policies`,
        revocationAs(revocationAda, { max_token_life_days: 1 }),
      ),
  ],
]
for (const [what, end] of robotEndings) {
  test(what, async (t) => {
    const organization = await makeOrganization()
    const { org, team } = organization
    const send = revocationFixture.instances[0].send
    const robot = `/api/v1/orgs/${org}/robots/ci`
    const body = { name: 'ci', team_ids: [team] }
    await must(201, send('POST', `/api/v1/orgs/${org}/robots`, revocationAs(revocationAda, body)))
    const made = await must(201, send('POST', `${robot}/tokens`, revocationAs(revocationAda, { name: 'ci' })))
    const uses = organization.uses.map(([path]) => [path, { token: String(made.json.sha1) }] as const)
    await endsAtOnce(t, uses, () => end({ ...organization, robot }))
  })
}
