import fc from 'fast-check'
import { makeSqlApplicationStore } from '../../adapters/sql/authorization-server/application-store.ts'
import { makeSqlWorkloadStore } from '../../adapters/sql/authorization-server/workload-store.ts'
import { pick, without } from '../../adapters/sql/kit/columns.ts'
import { federatedCredentials, oauthApplications } from '../../adapters/sql/tables/authorization-server.ts'
import type { StoreChange } from './store-change.fixture.ts'
import { at, organization, person } from './store-change.fixture.ts'

/** What a caller can change in the stores of the authorization server. */
export const applicationChanges: Readonly<Record<string, StoreChange>> = {
  'an application': {
    tables: [oauthApplications],
    columns: pick(oauthApplications, 'name', 'logo'),
    prepare: async (db) => {
      const store = makeSqlApplicationStore(db)(db)
      const addresses = { redirectUris: [], postLogoutRedirectUris: [], backChannelLogoutUri: '' }
      const secrets = { secretHash: undefined, formerSecretHash: undefined, formerSecretUntil: undefined }
      const content = { name: 'a', isPublic: true, addresses, logo: undefined, robotId: undefined, ...secrets }
      const owner = { userId: undefined, orgId: undefined }
      const id = await store.insert({ ...content, owner, clientId: 'a', createdAt: at })
      return async (fields) => {
        const before = id === undefined ? undefined : await store.byId(id)
        if (before === undefined) throw new Error('the application is not there')
        await store.replace(before, { ...content, ...fields } as never, at)
        return store.byId(before.id)
      }
    },
  },
  'a federated credential': {
    tables: [federatedCredentials],
    columns: without(
      federatedCredentials,
      'id',
      'orgId',
      'robotId',
      'createdAt',
      'lastUsedAt',
      'lastRefusedAt',
      'lastRefusal',
      'version',
    ),
    chosen: {
      conditions: fc.array(fc.record({ claim: fc.string(), value: fc.string() }), { maxLength: 3 }),
      scopes: fc.subarray(['read:user', 'write:cluster']),
      clusterUid: fc.stringMatching(/^[0-9a-f-]{0,64}$/),
    },
    prepare: async (db) => {
      const robot = { orgId: (await organization(db)).id, robotId: await person(db) }
      const store = makeSqlWorkloadStore(db)(db)
      const empty = { name: 'a', issuer: '', clusterUid: '', audience: '', conditions: [], scopes: [], lifeSeconds: 60 }
      const id = await store.insert(robot, empty, at)
      return async (fields) => {
        const before = id === undefined ? undefined : await store.find(robot, id)
        if (before === undefined) throw new Error('the federated credential is not there')
        await store.replace(before, { ...empty, ...fields })
        return store.find(robot, before.id)
      }
    },
  },
}
