import createClient from 'openapi-fetch'
import type { components, paths } from './api.js'

// What is used of Node, so that no further package is needed.
declare const process: { readonly env: Readonly<Record<string, string | undefined>> }
declare const Buffer: { from(text: string): { toString(encoding: string): string } }

const setting = (name: string): string => process.env[name] ?? ''
const [baseUrl, login, organization] = [setting('MOORAGE_URL'), setting('MOORAGE_LOGIN'), setting('MOORAGE_NAME')]
const asUser = createClient<paths>({ baseUrl, headers: { Authorization: `token ${setting('MOORAGE_TOKEN')}` } })
const password = Buffer.from(`${login}:${setting('MOORAGE_PASSWORD')}`).toString('base64')
const withPassword = createClient<paths>({ baseUrl, headers: { Authorization: `Basic ${password}` } })

const say = (call: string, result: unknown): void => console.log(`${call}: ${String(result)}`)

/** Returns the body of an answer that must be a success. */
const bodyOf = <Body,>({ data, error }: { data?: Body; error?: unknown }): Body => {
  if (data === undefined) throw new Error(JSON.stringify(error))
  return data
}

const sayError = (
  call: string,
  { response, error }: { response: Response; error?: components['schemas']['Error'] },
): void => say(call, `${response.status} ${error?.code} ${error?.message !== ''}`)

say('version', bodyOf(await asUser.GET('/version')).version)
say('own user', bodyOf(await asUser.GET('/user')).login)
const users = await asUser.GET('/users/search', { params: { query: { page: 2, limit: 1 } } })
say('users', `${bodyOf(users).data.length} of ${users.response.headers.get('X-Total-Count')}`)
const at = { params: { path: { orgname: organization } } }
say(
  'create organization',
  bodyOf(await asUser.POST('/orgs', { body: { username: organization, full_name: 'First' } })).full_name,
)
say(
  'edit organization',
  bodyOf(await asUser.PATCH('/orgs/{orgname}', { ...at, body: { full_name: 'Second' } })).full_name,
)
say('get organization', bodyOf(await asUser.GET('/orgs/{orgname}', at)).full_name)
const team = bodyOf(
  await asUser.POST('/orgs/{orgname}/teams', { ...at, body: { name: 'deployers', permission: 'write' } }),
)
say('create team', team.name)
const teams = bodyOf(await asUser.GET('/orgs/{orgname}/teams', at))
say(
  'teams',
  teams
    .map(({ name }) => name)
    .sort()
    .join(', '),
)
const added = await asUser.PUT('/teams/{teamid}/members/{username}', {
  params: { path: { teamid: team.id, username: 'ada' } },
})
say('add member', added.response.status)
const members = bodyOf(await asUser.GET('/teams/{teamid}/members', { params: { path: { teamid: team.id } } }))
say('members', members.map((member) => member.login).join(', '))
const own = { params: { path: { username: login } } }
const token = bodyOf(
  await withPassword.POST('/users/{username}/tokens', { ...own, body: { name: organization, scopes: ['all'] } }),
)
say('create token', `${token.name} ${token.sha1 !== ''}`)
const tokens = bodyOf(await withPassword.GET('/users/{username}/tokens', own))
say(
  'tokens',
  tokens.some(({ id }) => id === token.id),
)
const deleted = await withPassword.DELETE('/users/{username}/tokens/{id}', {
  params: { path: { username: login, id: String(token.id) } },
})
say('delete token', deleted.response.status)
say('roles', bodyOf(await asUser.GET('/authz/roles', { params: { query: { org: organization } } })).length)
say('settings', bodyOf(await asUser.GET('/settings/api')).max_response_items)
sayError('name in use', await asUser.POST('/orgs', { body: { username: organization } }))
say('delete organization', (await asUser.DELETE('/orgs/{orgname}', at)).response.status)
sayError('deleted organization', await asUser.GET('/orgs/{orgname}', at))
