import { isLeft } from 'fp-ts/lib/Either.js'
import type { ObjectLocator } from '../../core/kernel/access.ts'
import type { OrgId } from '../../core/kernel/ids.ts'
import type { Principal, ScopeSet } from '../../core/kernel/principal.ts'
import { fullScope, scopeCategories } from '../../core/kernel/principal.ts'
import { casesOf } from '../support/cases-of.ts'
import { eachDatabase } from '../support/databases.ts'
import { tagOf, unwrap } from '../support/outcome.ts'
import { callBy, principal } from './callers.ts'
import { catalogue } from './catalogue.ts'
import { makeRoleFixture } from './role.fixture.ts'
import { storeFixture } from './stored-fixture.ts'
import type { Fixture } from './fixture.ts'

const [owner, member, outsider] = [1, 2, 3]
const fixture: Fixture = {
  users: [owner, member, outsider],
  orgs: [
    {
      id: 11,
      visibility: 'private',
      members: [owner, member],
      teams: [
        { id: 111, permission: 'owner', members: [owner], roleIds: [] },
        { id: 112, permission: 'none', members: [member], roleIds: [] },
      ],
      roles: [{ id: 1101, permissions: ['org_mgmt/view'] }],
      grants: [],
    },
    { id: 12, visibility: 'limited', members: [owner], teams: [], roles: [], grants: [] },
    {
      id: 13,
      visibility: 'public',
      members: [owner],
      teams: [{ id: 131, permission: 'owner', members: [owner], roleIds: [] }],
      roles: [],
      grants: [],
    },
  ],
  clusters: [
    { id: 11_001, ownerId: 11 },
    { id: 1_001, ownerId: owner },
  ],
  tokens: [],
}

const organization = (id: number): ObjectLocator => ({ type: 'organization', name: `account${id}` })
const account = (id: number): ObjectLocator => ({ type: 'account', name: `ACCOUNT${id}` })
const cluster = (ownerId: number, id: number): ObjectLocator => ({
  type: 'cluster',
  account: `account${ownerId}`,
  name: `cluster-${id}`,
})
const role = (org: number): ObjectLocator => ({ type: 'role', id: 1101, account: `account${org}` })
const ok = 'done'
const denied = 'AccessDenied'
const hidden = 'ObjectHidden'

/** Who asks for what, and the answer. */
const decisions: readonly (readonly [string, Principal, ObjectLocator, string, string])[] = [
  ['an owner edits', principal(owner), organization(11), 'can_edit', ok],
  ['a member without a level sees', principal(member), organization(11), 'can_view', ok],
  ['a member without a level does not edit', principal(member), organization(11), 'can_edit', denied],
  ['an outsider does not learn of a private organization', principal(outsider), organization(11), 'can_view', hidden],
  ['an outsider sees a limited one', principal(outsider), organization(12), 'can_view', ok],
  ['an outsider is refused in a public one', principal(outsider), organization(13), 'can_edit', denied],
  ['no caller has an organization that does not exist', principal(owner), organization(99), 'can_view', hidden],
  ['a person is no organization', principal(owner), organization(owner), 'member', hidden],
  ['membership of the own account', principal(owner), account(owner), 'member', ok],
  ['the own account is the owner’s', principal(owner), account(owner), 'can_import_clusters', ok],
  ['another person’s account is hidden', principal(member), account(owner), 'member', hidden],
  ['an own cluster', principal(owner), cluster(owner, 1_001), 'can_delete', ok],
  ['another person’s cluster is hidden', principal(member), cluster(owner, 1_001), 'can_view', hidden],
  ['a member who sees no clusters is refused', principal(member), cluster(11, 11_001), 'can_view', denied],
  ['and told the same of one that is not there', principal(member), cluster(11, 11_999), 'can_view', denied],
  ['an owner gets an answer that it does not exist', principal(owner), cluster(11, 11_999), 'can_view', hidden],
  ['an outsider learns nothing', principal(outsider), cluster(11, 11_001), 'can_view', hidden],
  ['a cluster under another owner is none', principal(owner), cluster(13, 11_001), 'can_view', hidden],
  ['a member sees roles', principal(member), role(11), 'can_view', ok],
  ['a member edits no roles', principal(member), role(11), 'can_edit', denied],
  ['a role of another organization is none', principal(owner), role(13), 'can_view', hidden],
  ['outside of the organization every role is refused', principal(outsider), role(11), 'can_view', denied],
  ['also where no organization is', principal(owner), role(99), 'can_view', denied],
  ['a site admin may everything', principal(outsider, { isSiteAdmin: true }), organization(11), 'can_delete', ok],
  [
    'a site admin in another person’s account',
    principal(outsider, { isSiteAdmin: true }),
    account(owner),
    'can_import_clusters',
    ok,
  ],
  ['a site admin finds no role elsewhere', principal(outsider, { isSiteAdmin: true }), role(13), 'can_view', hidden],
]

/** Tokens that reach less than their holder. */
const confined = (userId: number, onlyOrgId: number, isSiteAdmin = false): Principal =>
  principal(userId, { onlyOrgId: onlyOrgId as OrgId, isSiteAdmin })
const publicOnly = (userId: number, isSiteAdmin = false): Principal =>
  principal(userId, { scopes: { ...fullScope, publicOnly: true }, isSiteAdmin })
const confinedDecisions: typeof decisions = [
  ['a confined token acts in its organization', confined(owner, 11), organization(11), 'can_edit', ok],
  [
    'a confined token sees another public organization as a stranger',
    confined(owner, 11),
    organization(13),
    'can_view',
    ok,
  ],
  ['a confined token is no owner elsewhere', confined(owner, 11), organization(13), 'can_edit', denied],
  ['a confined token does not see a limited one elsewhere', confined(owner, 11), organization(12), 'can_view', hidden],
  ['a confined token does not reach the own account', confined(owner, 11), account(owner), 'member', hidden],
  ['a confined token does not reach an own cluster', confined(owner, 11), cluster(owner, 1_001), 'can_view', hidden],
  [
    'a confined token of a site admin ends at its organization',
    confined(owner, 13, true),
    organization(11),
    'can_view',
    hidden,
  ],
  ['a confined token of a site admin is one inside', confined(outsider, 11, true), organization(11), 'can_edit', ok],
  ['a token for public objects sees a public organization', publicOnly(owner), organization(13), 'can_view', ok],
  ['a token for public objects holds nothing there', publicOnly(owner), organization(13), 'can_edit', denied],
  ['a token for public objects sees no private one', publicOnly(owner), organization(11), 'can_view', hidden],
  ['a token for public objects is no site admin', publicOnly(outsider, true), organization(11), 'can_view', hidden],
]

for (const database of eachDatabase()) {
  const onBench = casesOf(database.name, async () => {
    const db = await database.open()
    await storeFixture(db, fixture)
    return makeRoleFixture(db)
  })

  onBench('decides by what is stored and by the reach of the token', async (t, { authorizer }) => {
    for (const [title, caller, locator, relation, expected] of [...decisions, ...confinedDecisions]) {
      t.is(tagOf(await authorizer.authorize(caller, locator, relation)), expected, title)
    }
  })

  onBench('tells what it found on the way', async (t, { authorizer }) => {
    const found = unwrap(await authorizer.authorize(principal(owner), cluster(11, 11_001), 'can_view'))
    t.like(found, { objectType: 'cluster', objectId: 11_001, objectName: 'cluster-11001', ownerId: 11, orgId: 11 })
    t.like(found.context, { isMember: true, level: 'owner', teamIds: [111] })
    const own = unwrap(await authorizer.authorize(principal(owner), account(owner), 'member'))
    t.like(own, { objectType: 'user', objectId: owner, objectName: 'account1', ownerId: owner, orgId: undefined })
  })

  onBench('a refusal does not tell a hidden object from one that is not there', async (t, { authorizer }) => {
    for (const userId of [outsider, member]) {
      const there = await authorizer.authorize(principal(userId), cluster(11, 11_001), 'can_view')
      const absent = await authorizer.authorize(principal(userId), cluster(11, 11_999), 'can_view')
      t.is(
        isLeft(there) ? `${there.left.tag} ${there.left.message.replace('11001', 'N')}` : 'granted',
        isLeft(absent) ? `${absent.left.tag} ${absent.left.message.replace('11999', 'N')}` : 'granted',
      )
    }
  })

  onBench('a confined token is answered no relation on what is its holder’s own', async (t, bench) => {
    const ask = async (caller: Principal) => {
      const context = await bench.context(caller.userId, 11)
      const objects = [
        { objectType: 'user', objectID: caller.userId },
        { objectType: 'organization', objectID: 11 },
      ]
      return unwrap(await bench.list(callBy(caller), { context, objects, isBatch: true })).map(
        ({ relations }) => relations.length > 0,
      )
    }
    t.deepEqual(await ask(principal(owner)), [true, true])
    t.deepEqual(await ask(confined(owner, 11)), [false, true])
    t.deepEqual(await ask(confined(owner, 11, true)), [false, true])
    t.deepEqual(await ask(confined(owner, 13)), [false, false])
  })

  onBench(
    'a read-only token lists no relation that changes something, and none of a part that it has no scope for',
    async (t, bench) => {
      const context = await bench.context(owner, 11)
      const objects = [
        { objectType: 'organization', objectID: 11 },
        { objectType: 'cluster', objectID: 11_001 },
        { objectType: 'team', objectID: 111 },
      ]
      const ask = async (scopes: Partial<ScopeSet>) => {
        const caller = principal(owner, {
          scopes: { all: false, sudo: false, publicOnly: false, levels: {}, ...scopes },
        })
        return unwrap(await bench.list(callBy(caller), { context, objects, isBatch: true })).map(
          ({ relations }) => relations,
        )
      }
      const levels = Object.fromEntries(scopeCategories.map((category) => [category, 'read' as const]))
      const readOnly = await ask({ levels })
      const reading = new Set(catalogue.objectTypes.flatMap((definition) => definition.reading))
      t.deepEqual(
        readOnly.flat().filter((relation) => !reading.has(relation)),
        [],
      )
      t.true(readOnly.every((relations) => relations.includes('can_view')))
      t.deepEqual(
        (await ask({ levels: { cluster: 'write' } })).map((relations) => relations.length > 0),
        [true, true, false],
      )
      t.deepEqual(await ask({}), [[], [], []])
    },
  )

  onBench('a relation that the type does not have is a mistake, not an answer', async (t, { authorizer }) => {
    await t.throwsAsync(authorizer.authorize(principal(owner), organization(11), 'can_fly'))
  })
}
