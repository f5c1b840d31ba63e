import { addCopyButtons, ask, byId, onSubmit, tell } from './kit.js'
import { signIn, signOut } from './sign-in-form.js'

const organization = () => byId('organization').value
const at = (path) => '/orgs/' + encodeURIComponent(organization()) + path

let teams = []
let providers = []

/** Runs one call. Says `done` when it succeeded, or else why not; returns its answer only when it succeeded. */
const act = async (done, method, path, body) => {
  const answer = await ask(method, path, body)
  const isDone = answer.status >= 200 && answer.status < 300
  tell(isDone ? done : answer.message, !isDone)
  return isDone ? answer : undefined
}

const list = async (path) => {
  const { status, json, message } = await ask('GET', path)
  if (status === 200 && Array.isArray(json)) return json
  tell(message, true)
  return []
}

const element = (name, text) => Object.assign(document.createElement(name), { textContent: text })

const button = (text, about, run) => {
  const made = element('button', text)
  made.type = 'button'
  if (text === 'Remove') made.className = 'danger'
  made.setAttribute('aria-label', text + ': ' + about)
  made.addEventListener('click', run)
  return made
}

const fill = (id, rows, none) => byId(id).replaceChildren(...(rows.length === 0 ? [element('li', none)] : rows))

const row = (text, ...buttons) => {
  const made = element('li', text + ' ')
  made.append(...buttons)
  return made
}

const showRegistered = (provider) => {
  byId('registered').hidden = provider.type === 'ldap'
  byId('registered-text').textContent = [
    'Redirect URI: ' + provider.redirect_uri,
    'Back-channel logout: ' + provider.backchannel_logout_uri,
    'Redirect after logout: ' + provider.post_logout_redirect_uri,
    'Initiate login: ' + provider.initiate_login_uri,
  ].join('\n')
}

const teamName = (id) => teams.find((team) => team.id === id)?.name ?? String(id)

/** The fields of a directory, by their names on the wire. */
const ofDirectory = {
  user_base: 'directory-base',
  user_filter: 'directory-filter',
  id_attribute: 'directory-id',
  login_attribute: 'directory-login',
  group_base: 'directory-groups',
  nested_groups: 'directory-nested',
  authorities: 'directory-authorities',
}

const showKind = () => (byId('directory').hidden = byId('provider-type').value !== 'ldap')

/** Returns what the form says of a directory. What is empty in a new one has its default. */
const directoryOf = (isNew) => {
  const values = Object.entries(ofDirectory).map(([name, id]) => [name, byId(id).value.trim()])
  return {
    ...Object.fromEntries(values.filter(([, value]) => !isNew || value !== '')),
    trusts_mail: byId('directory-mail').checked,
  }
}

/** Puts a provider into the form, to be changed. */
const edit = (provider) => {
  byId('provider-name').value = provider.name
  byId('provider-display').value = provider.display_name
  byId('provider-type').value = provider.type
  byId('provider-issuer').value = provider.issuer
  byId('provider-client').value = provider.client_id
  byId('provider-creates').checked = provider.allows_creation
  byId('provider-links').checked = provider.links_verified_domains
  byId('provider-team').value = String(provider.default_team_id)
  byId('provider-claim').value = provider.groups_claim
  byId('provider-rules').value = provider.group_teams
    .map(({ group, team_id }) => group + ' = ' + teamName(team_id))
    .join('\n')
  for (const [field, id] of Object.entries(ofDirectory))
    if (provider.directory) byId(id).value = provider.directory[field]
  byId('directory-mail').checked = provider.directory?.trusts_mail === true
  showKind()
  showRegistered(provider)
  byId('provider-display').focus()
}

const showProviders = async () => {
  providers = await list(at('/identity-providers'))
  const rows = providers.map((provider) => {
    const { id, name, display_name, is_active, last_problem, withheld_ends } = provider
    const path = at('/identity-providers/' + id)
    const change = (text, done, method, body) =>
      button(text, name, async () => (await act(done, method, path, body)) && showProviders())
    const missing = withheld_ends === 0 ? '' : withheld_ends + ' people are missing in the directory and keep access'
    const facts = [display_name, is_active ? '' : 'switched off', last_problem, missing].filter((fact) => fact !== '')
    return row(
      facts.join(', '),
      button('Edit', name, () => edit(provider)),
      button('Check', name, async () => {
        await act('The provider answers as it should.', 'POST', path + '/check')
      }),
      is_active
        ? change('Switch off', 'The provider is switched off.', 'PATCH', { is_active: false })
        : change('Switch on', 'The provider is switched on.', 'PATCH', { is_active: true }),
      ...(withheld_ends === 0
        ? []
        : [
            button('End their access', name, async () => {
              const done = 'It is confirmed. The next comparison ends their access.'
              await act(done, 'POST', path + '/confirm-ends', { ends: withheld_ends })
            }),
          ]),
      change('Remove', 'The provider is removed.', 'DELETE'),
    )
  })
  fill('provider-list', rows, 'No identity provider.')
}

const showDomains = async () => {
  const rows = (await list(at('/domains'))).map(({ id, domain, is_verified, is_failing, record_name, proof }) => {
    const path = at('/domains/' + id)
    const change = (text, done, method, to) =>
      button(text, domain, async () => (await act(done, method, to)) && showDomains())
    const state = is_verified ? (is_failing ? 'verified, but its proof is missing' : 'verified') : 'not verified'
    return row(
      domain + ', ' + state + (is_verified ? '' : '. TXT record of ' + record_name + ': ' + proof),
      ...(is_verified ? [] : [change('Verify', 'The domain is verified.', 'POST', path + '/verify')]),
      change('Remove', 'The domain is removed.', 'DELETE', path),
    )
  })
  fill('domains', rows, 'No domain.')
}

const showLocal = async () => {
  const { status, json } = await ask('GET', at('/local-sign-in'))
  if (status !== 200) return
  byId('local-state').textContent = json.is_off
    ? 'People who are linked to a provider sign in there only.'
    : 'People may sign in with passwords of this service too.'
  byId('local-switch').textContent = json.is_off ? 'Accept passwords again' : 'Refuse passwords'
  byId('local-switch').dataset.next = String(!json.is_off)
}

const showOrganization = async () => {
  teams = await list(at('/teams'))
  const options = [{ id: 0, name: 'none' }, ...teams]
  byId('provider-team').replaceChildren(
    ...options.map(({ id, name }) => Object.assign(element('option', name), { value: String(id) })),
  )
  await Promise.all([showProviders(), showDomains(), showLocal()])
  byId('of-organization').hidden = false
}

/** Returns the rules of the lines, or undefined after it said what is wrong. */
const rulesOf = (text) => {
  const rules = []
  for (const line of text.split('\n').map((each) => each.trim())) {
    if (line === '') continue
    const cut = line.lastIndexOf('=')
    const name = line.slice(cut + 1).trim()
    const team = teams.find((each) => each.name.toLowerCase() === name.toLowerCase())
    if (cut < 1 || team === undefined) {
      tell('Write each rule as group = team. There is no team "' + name + '".', true)
      return undefined
    }
    rules.push({ group: line.slice(0, cut).trim(), team_id: team.id })
  }
  return rules
}

onSubmit('provider-form', async () => {
  const rules = rulesOf(byId('provider-rules').value)
  if (rules === undefined) return
  const name = byId('provider-name').value.trim()
  const known = providers.find((provider) => provider.name === name)
  const isDirectory = byId('provider-type').value === 'ldap'
  const body = {
    name,
    type: byId('provider-type').value,
    display_name: byId('provider-display').value.trim() || name,
    issuer: byId('provider-issuer').value.trim(),
    client_id: byId('provider-client').value.trim(),
    client_secret: byId('provider-secret').value,
    allows_creation: byId('provider-creates').checked,
    links_verified_domains: byId('provider-links').checked,
    default_team_id: Number(byId('provider-team').value),
    groups_claim: byId('provider-claim').value.trim(),
    group_teams: rules,
    ...(isDirectory ? { directory: directoryOf(known === undefined) } : {}),
  }
  const path = at('/identity-providers')
  const saved = await (known === undefined
    ? act(
        isDirectory
          ? 'The directory is added. Check it.'
          : 'The provider is added. Register its addresses, then check it.',
        'POST',
        path,
        body,
      )
    : act('The provider is changed.', 'PATCH', path + '/' + known.id, body))
  if (saved === undefined) return
  byId('provider-form').reset()
  showKind()
  showRegistered(saved.json)
  await showProviders()
})

onSubmit('domain-form', async () => {
  const body = { domain: byId('domain').value.trim() }
  if (
    (await act('The domain is added. Publish its proof, then verify it.', 'POST', at('/domains'), body)) === undefined
  )
    return
  byId('domain-form').reset()
  await showDomains()
})

byId('local-switch').addEventListener('click', async () => {
  const body = { is_off: byId('local-switch').dataset.next === 'true' }
  if (await act('It is done.', 'PUT', at('/local-sign-in'), body)) await showLocal()
})

byId('provider-type').addEventListener('change', showKind)
byId('organization').addEventListener('change', showOrganization)
addCopyButtons()

byId('leave').addEventListener('click', async () => {
  byId('parts').hidden = true
  await signOut()
})

await signIn(async () => {
  const own = await list('/user/orgs')
  const names = own.map(({ username }) => username)
  byId('organization').replaceChildren(...names.map((name) => Object.assign(element('option', name), { value: name })))
  byId('parts').hidden = false
  if (names.length === 0) tell('You are in no organization.')
  else await showOrganization()
})
