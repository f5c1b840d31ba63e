import { sample as organizations } from '../organizations/sample.ts'
import { sample as identity } from '../identity/sample.ts'
import { userSchema } from '../../plugins/provisioning/scim/attributes.ts'
import { defineSample, must } from '../support/part-sample.ts'

/** A user and a group of the directory of the organization. */
export const sample = defineSample({
  part: 'provisioning',
  make: async (tenant) => {
    const { service, org, prefix, text, mailDomain } = tenant
    await tenant.of(organizations)
    const { owner } = await tenant.of(identity)
    const made = async (path: string, body: object): Promise<number> => {
      const options = { token: owner.token, body }
      const answer = await must(path, service.send('POST', `/api/v1/scim/v2/organizations/${org}/${path}`, options))
      return Number(answer.json.id)
    }
    const userName = `${prefix}directory@${mailDomain}`
    const userId = await made('Users', { userName, displayName: text })
    const groupId = await made('Groups', { displayName: text, members: [{ value: String(userId) }] })
    return { userId, groupId }
  },
  names: ({ userId, groupId }) => ({
    'provisioned user': { id: userId },
    'provisioned group': { id: groupId },
    'schema of SCIM': { id: userSchema },
    'resource type of SCIM': { id: 'User' },
  }),
  bodies: {
    'provisioning.createUser': () => ({ own: { userName: 'new@example.com' } }),
    'provisioning.replaceUser': () => ({ own: { userName: 'replaced@example.com' } }),
    'provisioning.patchUser': () => ({ own: { Operations: [{ op: 'replace', path: 'title', value: 'Captain' }] } }),
    'provisioning.createGroup': (mine) => ({
      own: { displayName: 'New', members: [{ value: String(mine.id('provisioned user')) }] },
    }),
    'provisioning.replaceGroup': (mine) => ({
      own: { displayName: 'Replaced', members: [{ value: String(mine.id('provisioned user')) }] },
    }),
    'provisioning.patchGroup': (mine) => ({
      own: { Operations: [{ op: 'add', path: 'members', value: [{ value: String(mine.id('provisioned user')) }] }] },
    }),
  },
  sendsExample: (routeId) => routeId === 'provisioning.search',
  refusedToOwner: { 'provisioning.search []': 'it is not served' },
  tables: ({ userId, groupId }) => ({
    provisioned_users: { user_id: [userId] },
    provisioned_emails: { user_id: [userId] },
    provisioned_groups: { team_id: [groupId] },
  }),
})
