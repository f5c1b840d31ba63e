import { peopleIds, sample as identity } from '../identity/sample.ts'
import { sample as organizations } from '../organizations/sample.ts'
import { adminLogin } from '../support/service.ts'
import { defineSample, must, type Tenant } from '../support/part-sample.ts'

const digitalOcean = (name: string): object => ({ name, type: 'DigitalOcean', digitalocean: { token: 'a token' } })
const secretOf = (tenant: Tenant): object => ({
  cluster_uid: tenant.key('cluster', 'uid'),
  secret_namespace: 'vault',
  secret_name: 'keys',
})

/** A cloud credential of each person: nobody has that of another. */
export const sample = defineSample({
  part: 'clouds',
  make: async (tenant) => {
    const { service, text, people, outsiders } = tenant
    await tenant.of(identity)
    await tenant.of(organizations)
    const name = `${tenant.prefix}vault`
    for (const login of [...Object.values(people), ...outsiders, adminLogin]) {
      const body = { name, type: 'Hetzner', hetzner: { sshKeyName: text, token: text } }
      const token = await service.tokenFor(login)
      await must('credential', service.send('POST', '/api/v1/user/credentials', { token, body }))
    }
    return { name }
  },
  names: ({ name }) => ({ 'cloud credential': { name } }),
  bodies: {
    'clouds.createCredential': (mine, theirs) => ({
      own: digitalOcean('second'),
      'ownerID of an organization': { ...digitalOcean('third'), ownerID: theirs.id('organization') },
      'ownerID of a person': { ...digitalOcean('third'), ownerID: theirs.id('user') },
      'ownerID of the own organization': { ...digitalOcean('third'), ownerID: mine.id('organization') },
    }),
    'clouds.replaceCredential': (mine, theirs) => ({
      own: digitalOcean(mine.key('cloud credential')),
      name: digitalOcean(theirs.key('cloud credential')),
      ownerID: { ...digitalOcean(mine.key('cloud credential')), ownerID: theirs.id('user') },
    }),
    'clouds.listBuckets': (mine, theirs) => ({
      own: secretOf(mine),
      cluster_uid: secretOf(theirs),
      credential: { credential: theirs.key('cloud credential') },
      'credential and cluster_uid': { credential: mine.key('cloud credential'), ...secretOf(theirs) },
    }),
  },
  tables: (_, tenant) => ({ cloud_credentials: { user_id: peopleIds(tenant) } }),
  refusedToOwner: {
    'clouds.listBuckets []': 'the cluster has no such secret',
  },
})
