import { createHash } from 'node:crypto'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import {
  defineSample,
  must,
  refusedFor,
  samplePassword,
  type Sample,
  type Tenant,
  type TenantBeingMade,
} from '../support/part-sample.ts'

/** The people of a tenant. */
export interface SamplePeople {
  readonly owner: SamplePerson
  readonly editor: SamplePerson
  readonly viewer: SamplePerson
  /** Those outside of the organization. */
  readonly others: readonly SamplePerson[]
  /** The owner of the passkey. The others sign in with a password alone. */
  readonly keyholderId: number
  readonly passkeyId: number
}

/** A person of a tenant. */
export interface SamplePerson {
  readonly login: string
  readonly id: number
  /** A personal access token, all scopes. */
  readonly token: string
  /** Another token, which nobody uses. */
  readonly tokenId: number
  readonly sessionId: number
  /** A confirmed address that is not the primary one. */
  readonly emailId: number
}

const lastIds = async (database: SqlDatabase, userId: number) => {
  const [row] = await database.query<{ token_id: number; session_id: number }>((k) =>
    k('access_tokens')
      .join('sessions', 'sessions.user_id', 'access_tokens.user_id')
      .where('access_tokens.user_id', userId)
      .max({ token_id: 'access_tokens.id' })
      .max({ session_id: 'sessions.id' }),
  )
  return { tokenId: Number(row?.token_id), sessionId: Number(row?.session_id) }
}

const addSecondEmail = async (database: SqlDatabase, userId: number, email: string): Promise<number> => {
  await database.query((k) =>
    k('emails').insert({ user_id: userId, email, lower_email: email, verified: true, created_at: 0 }),
  )
  const [row] = await database.query<{ id: number }>((k) => k('emails').where('email', email).select('id'))
  return Number(row?.id)
}

const addPasskey = async (database: SqlDatabase, userId: number, name: string): Promise<number> => {
  const credential = `${name} of ${userId}`
  await database.query((k) =>
    k('passkeys').insert({
      user_id: userId,
      name,
      credential_hash: createHash('sha256').update(credential).digest(),
      credential_id: Buffer.from(credential).toString('base64url'),
      public_key: Buffer.from([1]),
      counter: 0,
      transports: 'internal',
      aaguid: '00000000-0000-0000-0000-000000000000',
      is_backed_up: false,
      rp_id: 'platform.example',
      created_at: 0,
    }),
  )
  const [row] = await database.query<{ id: number }>((k) => k('passkeys').where('user_id', userId).max({ id: 'id' }))
  return Number(row?.id)
}

const makePerson = async (tenant: TenantBeingMade, login: string): Promise<SamplePerson> => {
  const { service, database, text, mailDomain } = tenant
  const body = {
    username: login,
    email: `${login}@${mailDomain}`,
    full_name: `${login} ${text}`,
    password: samplePassword,
    must_change_password: false,
  }
  const made = await must(login, service.send('POST', '/api/v1/admin/users', { token: service.adminToken, body }))
  const id = made.json.id as number
  const token = await service.tokenFor(login)
  const settings = { location: text, description: text, hide_email: false }
  await must('settings', service.send('PATCH', '/api/v1/user/settings', { token, body: settings }))
  const credentials = { username: login, password: samplePassword }
  await must('session', service.send('POST', '/api/v1/user/signin', { body: credentials }))
  await service.tokenFor(login)
  const { tokenId, sessionId } = await lastIds(database, id)
  await database.query((k) =>
    k('access_tokens')
      .where('id', tokenId)
      .update({ name: `token ${text}` }),
  )
  const emailId = await addSecondEmail(database, id, `${login}-second@${mailDomain}`)
  return { login, id, token, tokenId, sessionId, emailId }
}

const newcomer = { email: 'newcomer@example.com', password: samplePassword }

/** The people of a tenant, with their tokens, sessions and addresses. */
export const sample: Sample<SamplePeople> = defineSample({
  part: 'identity',
  make: async (tenant): Promise<SamplePeople> => {
    const { people, outsiders, service } = tenant
    const owner = await makePerson(tenant, people.owner)
    const editor = await makePerson(tenant, people.editor)
    const viewer = await makePerson(tenant, people.viewer)
    const others: SamplePerson[] = []
    for (const login of outsiders) others.push(await makePerson(tenant, login))
    const enroll = '/api/v1/user/settings/security/twofa/enroll'
    await must('second factor', service.send('GET', enroll, { token: owner.token }))
    const keyholder = { username: `${people.editor}-keys`, email: `${people.editor}-keys@example.com` }
    const body = { ...keyholder, password: samplePassword, visibility: 'private' }
    const made = await must(
      'keyholder',
      service.send('POST', '/api/v1/admin/users', { token: service.adminToken, body }),
    )
    const keyholderId = made.json.id as number
    const passkeyId = await addPasskey(tenant.database, keyholderId, tenant.text)
    return { owner, editor, viewer, others, keyholderId, passkeyId }
  },
  names: ({ owner, viewer, passkeyId }, { mailDomain }) => ({
    user: { id: owner.id, name: owner.login, email: `${owner.login}@${mailDomain}` },
    'other user': { name: viewer.login },
    token: { id: owner.tokenId },
    session: { id: owner.sessionId },
    passkey: { id: passkeyId },
    email: { id: owner.emailId },
    picture: { digest: 'd'.repeat(43) },
    'drawn picture': { name: 'web' },
  }),
  bodies: {
    'identity.deleteSettingsTokens': (mine, theirs) => ({
      own: { tokenIDs: [mine.of(sample).viewer.tokenId] },
      tokenIDs: { tokenIDs: [theirs.id('token')] },
    }),
    'identity.adminCreateUser': () => ({ own: { username: 'newcomer', ...newcomer } }),
    'identity.adminEditUser': () => ({ own: { full_name: 'Changed' } }),
    'identity.adminChangePassword': () => ({ own: { password: 'another-lantern-over-water-18' } }),
    'identity.adminUpdateProfile': () => ({ own: { full_name: 'Changed' } }),
    'identity.adminRenameUser': (_, theirs) => ({
      own: { new_username: 'renamed' },
      new_username: { new_username: theirs.key('other user') },
    }),
    'identity.consoleCreateUser': () => ({ own: { userName: 'newcomer', ...newcomer } }),
    'identity.consoleEditUser': () => ({ own: { fullName: 'Changed' } }),
    'identity.renamePasskey': () => ({ own: { name: 'Renamed' } }),
    'identity.setRegistration': () => ({ own: { disableRegistration: true } }),
    'identity.allowDomain': () => ({ own: { name: 'example.net' } }),
    'identity.disallowDomain': () => ({ own: { name: 'example.net' } }),
    'identity.signUp': (_, theirs) => ({
      own: { username: 'newcomer', ...newcomer },
      username: { username: theirs.key('other user'), ...newcomer },
    }),
    'identity.createToken': (mine, theirs) => ({
      own: { name: 'more', org: mine.org },
      org: { name: 'thief', org: theirs.org },
    }),
    'identity.createSettingsToken': (mine, theirs) => ({
      own: { name: 'still more', org: mine.org },
      org: { name: 'thief', org: theirs.org },
    }),
    // These are about the caller alone, and name nothing that somebody else could own.
    'identity.signIn': undefined,
    'identity.signInWithCode': undefined,
    'identity.editUserSettings': undefined,
    'identity.editProfile': undefined,
    'identity.changePassword': undefined,
    'identity.deleteAccount': undefined,
    'identity.changePageSizes': undefined,
    'identity.addEmails': undefined,
    'identity.changeAccountEmail': undefined,
    'identity.confirmEmail': undefined,
    'identity.forgotPassword': undefined,
    'identity.resetPassword': undefined,
    'identity.setAvatar': undefined,
    'identity.uploadAvatar': undefined,
    'identity.removeEmails': undefined,
    'identity.enrollSecondFactor': undefined,
    'identity.replaceRecoveryCodes': undefined,
    'identity.disableSecondFactor': undefined,
    'identity.requestPasskey': undefined,
    'identity.registerPasskey': undefined,
    'identity.removePasskey': undefined,
    'identity.signInWithPasskey': undefined,
  },
  queries: { 'identity.changeAccountEmail': { _method: 'PRIMARY' } },
  tables: ({ keyholderId }, tenant) => {
    const ids = peopleIds(tenant)
    return {
      users: { id: ids },
      emails: { user_id: ids },
      access_tokens: { user_id: ids },
      sessions: { user_id: ids },
      remembered_logins: { user_id: ids },
      follows: { user_id: ids, target_id: ids },
      two_factors: { user_id: ids },
      recovery_codes: { user_id: ids },
      passkeys: { user_id: [keyholderId] },
      identity_codes: { user_id: ids },
      page_sizes: { user_id: ids },
    }
  },
  sharedTables: {
    allowed_domains: 'the domains of sign-up, of the site',
    email_search_terms: 'follow the emails',
    user_search_terms: 'follow the users',
    passkey_challenges: 'digests that name no one',
    identity_attempts: 'counters of attempts, by digests',
  },
  secrets: ({ owner, viewer }) => [owner.login, viewer.login],
  harmless: {
    'identity.getCaller [query check_client_org]': { why: 'the answer is about the caller', says: /"login":"north-/ },
    'identity.searchUsers [query q]': {
      why: 'a filter over what the caller may see: nothing is found',
      says: /"data":\[\]\}$/,
    },
    'identity.searchUsers [query uid]': {
      why: 'a filter over what the caller may see: nothing is found',
      says: /"data":\[\]\}$/,
    },
    'identity.searchUsers [query q, query uid]': {
      why: 'a filter over what the caller may see: nothing is found',
      says: /"data":\[\]\}$/,
    },
    'identity.validateUsername [query user_name]': {
      why: 'names are one space for all: each caller learns that a name is in use',
      says: /^\{"Status":"USER_EXISTS"/,
    },
    'identity.validateOrgname [query org]': {
      why: 'names are one space for all: each caller learns that a name is in use',
      says: /^\{"Status":"USER_EXISTS"/,
    },
    'identity.validateOrgname [query user_name]': {
      why: 'names are one space for all: each caller learns that a name is in use',
      says: /^\{"Status":"USER_EXISTS"/,
    },
    'identity.validateOrgname [query org, query user_name]': {
      why: 'names are one space for all: each caller learns that a name is in use',
      says: /^\{"Status":"USER_EXISTS"/,
    },
    'identity.validateEmail [query email]': {
      why: 'names are one space for all: each caller learns that a name is in use',
      says: /^\{"Status":"USER_EXISTS"/,
    },
    'identity.deleteSettingsTokens [body tokenIDs]': { why: 'only own tokens are deleted: none', says: /Deleted 0/ },
  },
  refusedToOwner: {
    ...refusedFor('for site admins', [
      'identity.adminListUsers',
      'identity.adminEditUser',
      'identity.adminChangePassword',
      'identity.adminDeleteUser',
      'identity.adminUnlockUser',
      'identity.endUserSessions',
      'identity.adminGetUser',
      'identity.adminUpdateProfile',
      'identity.adminRenameUser',
      'identity.adminListEmails',
      'identity.adminSearchEmails',
      'identity.consoleListUsers',
      'identity.consoleCreateUser',
      'identity.consoleEditUser',
      'identity.consoleDeleteUser',
      'identity.consoleListDeleted',
      'identity.consoleReactivate',
      'identity.consolePurge',
      'identity.consoleTestMail',
      'identity.setRegistration',
      'identity.allowDomain',
      'identity.disallowDomain',
      'identity.adminResetSecondFactor',
    ]),
    'identity.removePasskey []': 'a token alone is no proof',
    'identity.renamePasskey []': 'the passkey is that of another person',
    'identity.checkFollowing []': 'users cannot follow themselves',
    'identity.checkOwnFollowing []': 'the member is private, and what is asked is no matter of the organization',
    'identity.followUser []': 'the member is private, and what is asked is no matter of the organization',
    'identity.unfollowUser []': 'the member is private, and what is asked is no matter of the organization',
    'identity.signUp []': 'sign-up is closed',
    'identity.deleteToken []': 'a request before this one did the same',
    'identity.removeAccountEmail []': 'a request before this one made it the primary one',
    'identity.getExtIdpToken []': 'the service of this test has no key for it',
  },
})

/** The ids of the people of a tenant. */
export const peopleIds = (tenant: Tenant): readonly number[] => {
  const { owner, editor, viewer } = tenant.of(sample)
  return [owner.id, editor.id, viewer.id]
}
