import test from 'ava'
import fc from 'fast-check'
import { makeSqlChartRepositoryStore } from '../../adapters/sql/chart-repositories/chart-repository-store.ts'
import { makeSqlContractStore } from '../../adapters/sql/contracts/contract-store.ts'
import { datedFields } from '../../adapters/sql/contracts/terms-in-force.ts'
import { changeableOfUser } from '../../adapters/sql/identity/rows.ts'
import { makeSqlUserStore } from '../../adapters/sql/identity/user-store.ts'
import type { Columns } from '../../adapters/sql/kit/columns.ts'
import { pick, without } from '../../adapters/sql/kit/columns.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { makeSqlOrganizationStore } from '../../adapters/sql/organizations/organization-store.ts'
import { profileOfOrganization } from '../../adapters/sql/organizations/rows.ts'
import { makeSqlTeamStore } from '../../adapters/sql/organizations/team-store.ts'
import { makeSqlRoleStore } from '../../adapters/sql/authz/role-store.ts'
import { makeSqlBrandingStore } from '../../adapters/sql/platform/site-store.ts'
import { roles } from '../../adapters/sql/tables/authz.ts'
import { chartRepositories } from '../../adapters/sql/tables/chart-repositories.ts'
import { contracts } from '../../adapters/sql/tables/contracts.ts'
import { teams } from '../../adapters/sql/tables/organizations.ts'
import { branding } from '../../adapters/sql/tables/platform.ts'
import type { UserId } from '../../core/kernel/ids.ts'
import { terms } from '../contracts/contract-store.fixture.ts'
import { anyRow } from '../support/any-row.ts'
import { eachDatabase } from '../support/databases.ts'
import { unwrap } from '../support/outcome.ts'

const at = new Date('2026-05-01T08:00:00.123Z')

type Fields = Readonly<Record<string, unknown>>

/** A store's change of what it keeps: every declared field of `columns` is written, and read back by the store. */
interface Change {
  readonly columns: Columns
  /** Makes the object that is changed. */
  readonly prepare: (db: SqlDatabase) => Promise<(fields: Fields) => Promise<object | undefined>>
}

const organization = async (db: SqlDatabase) => {
  const store = makeSqlOrganizationStore(db, async () => [])(db)
  const [fullName, email, description, website, location, fleetEndpoint] = ['', '', '', '', '', '']
  const profile = { fullName, email, description, website, location, fleetEndpoint }
  const id = unwrap(
    await store.insert({ ...profile, name: 'acme', orgType: 0, createdAt: at, visibility: 'public' } as never),
  )
  return { store, id }
}

const changes: Readonly<Record<string, Change>> = {
  'a user': {
    // The search name is computed.
    columns: (({ searchName: _, ...columns }) => columns)(changeableOfUser),
    prepare: async (db) => {
      const store = makeSqlUserStore(db)(db)
      const fresh = { login: 'ann', fullName: '', passwordPhc: '!', mustChangePassword: false, isAdmin: false }
      const id = unwrap(
        await store.insert({ ...fresh, isActive: true, restricted: false, visibility: 'public', createdAt: at }),
      )
      return async (fields) => {
        await store.update(id as UserId, fields)
        return store.byId(id as UserId)
      }
    },
  },
  'an organization': {
    columns: profileOfOrganization,
    prepare: async (db) => {
      const { store, id } = await organization(db)
      return async (fields) => {
        await store.update(id, fields, undefined)
        return store.findById(id)
      }
    },
  },
  'a team': {
    columns: without(teams, 'id', 'orgId', 'lowerName', 'createdAt', 'version'),
    prepare: async (db) => {
      const { id: orgId } = await organization(db)
      const store = makeSqlTeamStore(db)(db)
      const team = { orgId, name: 'dev', description: '', permission: 'read' as const, type: '', createdAt: at }
      const id = unwrap(await store.insert(team as never))
      return async (fields) => {
        await store.update(id, fields, undefined)
        return store.findById(id)
      }
    },
  },
  'a role': {
    columns: pick(roles, 'name', 'description'),
    prepare: async (db) => {
      const { id: orgId } = await organization(db)
      const store = makeSqlRoleStore(db)(db)
      const content = { name: 'r', description: '', permissions: [], teamIds: [] }
      const role = unwrap(await store.insert(orgId, content, at))
      return async (fields) => {
        unwrap(await store.replace(role, { ...content, ...fields }, at))
        return store.get(orgId, role.id)
      }
    },
  },
  'a chart repository': {
    columns: pick(chartRepositories, 'url', 'description', 'username', 'ref'),
    prepare: async (db) => {
      const { id: accountId } = await organization(db)
      const store = makeSqlChartRepositoryStore(db)(db)
      const content = { url: '', isPlainHttp: true, description: '', username: '', holds: [], ref: '', box: undefined }
      const id = unwrap(await store.insert(accountId, 'charts' as never, content as never, at))
      let version = 0
      return async (fields) => {
        await store.replace(accountId, id, (version += 1), { ...content, ...fields } as never, at)
        return store.find(accountId, 'charts' as never)
      }
    },
  },
  'a contract': {
    columns: pick(contracts, 'name', 'emails', 'bindsNewClusters', ...datedFields),
    prepare: async (db) => {
      const { id: ownerId } = await organization(db)
      const store = makeSqlContractStore(db, { now: () => at })(db)
      const id = await store.insert(ownerId as never, terms(), at)
      const version = {
        number: 2,
        from: new Date(0),
        to: undefined,
        recordedAt: at,
        recordedBy: '',
        supersededAt: undefined,
      }
      return async (fields) => {
        await store.setDetails(id, fields as never, at)
        await store.setTerms(id, [{ ...version, ...fields } as never], at)
        return store.get(ownerId as never, id)
      }
    },
  },
  'the branding': {
    columns: without(branding, 'id'),
    prepare: async (db) => {
      const store = makeSqlBrandingStore(db)(db)
      return async (fields) => {
        await store.put(fields as never)
        return store.read()
      }
    },
  },
}

for (const { name, open } of eachDatabase()) {
  for (const [what, { columns, prepare }] of Object.entries(changes)) {
    test(`${name}: a change of ${what} saves every field`, async (t) => {
      const db = await open()
      try {
        const change = await prepare(db)
        await fc.assert(
          fc.asyncProperty(anyRow(columns), async (fields) => {
            const stored = (await change(fields)) as Fields
            for (const field of Object.keys(columns)) t.deepEqual(stored[field], fields[field], field)
          }),
          { numRuns: 5 },
        )
      } finally {
        await db.close()
      }
    })
  }
}
