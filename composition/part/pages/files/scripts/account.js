import { addCopyButtons, ask, byId, onSubmit, tell } from './kit.js'
import { hasPasskeySupport, makePasskey, usePasskey } from './passkeys.js'
import { beginAt, signIn, signOut } from './sign-in-form.js'

const settings = '/user/settings'

/** Runs one call. Says `done` when it succeeded, or else why not; returns its answer only when it succeeded. */
const act = async (done, method, path, body) => {
  const answer = await ask(method, path, body)
  const isDone = answer.status >= 200 && answer.status < 300
  tell(isDone ? done : answer.message, !isDone)
  return isDone ? answer : undefined
}

const element = (name, text) => {
  const made = document.createElement(name)
  made.textContent = text
  return made
}

/** A button in a row of a list. Its name says what it is about. One that takes something away looks different. */
const button = (text, about, run) => {
  const made = element('button', text)
  made.type = 'button'
  if (['Delete', 'End', 'Remove', 'Withdraw'].includes(text)) made.className = 'danger'
  made.setAttribute('aria-label', text + ': ' + about)
  made.addEventListener('click', run)
  return made
}

const fill = (listId, rows, none) => byId(listId).replaceChildren(...(rows.length === 0 ? [element('li', none)] : rows))

const row = (text, ...buttons) => {
  const made = element('li', text + ' ')
  made.append(...buttons)
  return made
}

const day = (seconds) => new Date(seconds * 1000).toLocaleString()

const list = async (path) => {
  const { status, json, message } = await ask('GET', path)
  if (status === 200 && Array.isArray(json)) return json
  tell(message, true)
  return []
}

const profileFields = ['full_name', 'website', 'location', 'description']

const showProfile = async () => {
  const { status, json, message } = await ask('GET', settings + '/profile')
  if (status !== 200) return tell(message, true)
  const form = byId('profile-form')
  for (const name of profileFields) form.elements[name].value = json[name] ?? ''
  form.elements['keep_email_private'].checked = json.keep_email_private === true
}

const showAddresses = async () => {
  const rows = (await list(settings + '/account/email')).map(({ id, email, display_email, verified, primary }) => {
    const facts = [display_email, primary ? '(primary)' : '', verified ? '' : '(not confirmed)']
      .filter((fact) => fact !== '')
      .join(' ')
    const change = (text, done, method, path, body) =>
      button(text, display_email, async () => (await act(done, method, path, body)) && showAddresses())
    const path = settings + '/account/email'
    return row(
      facts,
      ...(verified && !primary
        ? [
            change(
              'Make it the primary one',
              'It is the primary address now.',
              'POST',
              path + '?_method=PRIMARY&id=' + id,
            ),
          ]
        : []),
      ...(verified
        ? []
        : [change('Send the mail again', 'The mail is sent.', 'POST', path + '?_method=SENDACTIVATION&id=' + id)]),
      ...(primary ? [] : [change('Remove', 'The address is removed.', 'DELETE', '/user/emails', { emails: [email] })]),
    )
  })
  fill('addresses', rows, 'No address.')
}

const webauthn = settings + '/security/webauthn'

/** Returns what proves in a request that it is the user: the password and the code, or a passkey. */
const proofFrom = async (passwordId, codeId) => {
  const [password, passCode] = [byId(passwordId).value, byId(codeId).value.trim()]
  byId(codeId).value = ''
  if (password !== '') return passCode === '' ? { password } : { password, passCode }
  const passkey = await usePasskey(webauthn + '/request_proof')
  return passkey && { passkey }
}

/** The passkey that is being renamed. */
let renamed

const beginRename = (id, name) => {
  renamed = id
  byId('passkey-new-name').value = name
  byId('rename-form').hidden = false
  byId('passkey-new-name').focus()
  byId('passkey-new-name').select()
}

const endRename = () => {
  renamed = undefined
  byId('rename-form').hidden = true
}

onSubmit('rename-form', async () => {
  const name = byId('passkey-new-name').value.trim()
  if ((await act('The passkey is renamed.', 'PATCH', webauthn + '/keys/' + renamed, { name })) === undefined) return
  endRename()
  await showFactor()
})
byId('rename-cancel').addEventListener('click', endRename)

const showFactor = async () => {
  const [{ json }, keys] = await Promise.all([ask('GET', settings + '/security'), list(webauthn + '/keys')])
  const hasApp = json.twoFAEnrolled === true
  byId('factor-on').hidden = !hasApp
  byId('factor-off').hidden = hasApp
  byId('factor-form').hidden = !hasApp && keys.length === 0
  byId('factor-disable').disabled = !hasApp
  for (const id of ['factor-password', 'factor-code']) byId(id).required = keys.length === 0
  const rows = keys.map(({ ID, Name, createdAt, lastUsedAt, backedUp }) => {
    const facts = [
      Name,
      'added ' + day(createdAt),
      lastUsedAt === 0 ? 'never used' : 'last used ' + day(lastUsedAt),
      ...(backedUp ? ['synchronized'] : []),
    ]
    return row(
      facts.join(', '),
      button('Rename', Name, () => beginRename(ID, Name)),
      button('Remove', Name, async () => {
        const proof = await proofFrom('passkey-password', 'passkey-code')
        if (proof === undefined) return
        const done = await act('The passkey is removed.', 'DELETE', webauthn + '/keys/' + ID, proof)
        if (done === undefined) return
        byId('passkey-form').reset()
        await Promise.all([showFactor(), showSessions()])
      }),
    )
  })
  fill('passkeys', rows, 'No passkeys.')
}

const showCodes = (text) => {
  byId('recovery-codes').textContent = text
  byId('save-codes').href = 'data:text/plain;charset=utf-8,' + encodeURIComponent(text)
  byId('recovery').hidden = text === ''
}

/** Lists the links, and the providers that may be linked: those of the site, and those that are linked. */
const showLinks = async () => {
  const links = await list(settings + '/security/account_link')
  fill(
    'links',
    links.map(({ providerDisplayName, externalID }) => row(providerDisplayName + ', as ' + externalID)),
    'No identity provider is linked.',
  )
  const offered = new Map((await list('/user/oauth2')).map(({ id, display_name }) => [id, display_name]))
  for (const { loginSourceID, providerDisplayName } of links) offered.set(loginSourceID, providerDisplayName)
  byId('link-provider').replaceChildren(
    ...[...offered].map(([id, name]) => Object.assign(element('option', name), { value: String(id) })),
  )
  byId('link-form').hidden = offered.size === 0
}

onSubmit('link-form', async () => {
  const id = Number(byId('link-provider').value)
  const proof = await proofFrom('link-password', 'link-code')
  if (proof === undefined) return
  if (byId('link-act').value === 'link') {
    const problem = await beginAt(id, proof, '/user/oauth2/' + id + '/link')
    if (problem !== undefined) tell(problem, true)
    return
  }
  const path = settings + '/security/account_link'
  if ((await act('The link is removed.', 'POST', path, { loginSourceID: id, ...proof })) === undefined) return
  byId('link-form').reset()
  await Promise.all([showLinks(), showSessions()])
})

const showTokens = async () => {
  const rows = (await list(settings + '/tokens/access-tokens')).map(
    ({ id, name, tokenLastEight, expDate, scopes, hasUsed, updatedAt }) => {
      const facts = [
        name,
        '…' + tokenLastEight,
        scopes.join(' '),
        expDate === 0 ? 'never expires' : 'expires ' + day(expDate),
        hasUsed ? 'last used ' + day(updatedAt) : 'never used',
      ]
      return row(
        facts.join(', '),
        button(
          'Delete',
          name,
          async () =>
            (await act('The token is deleted.', 'DELETE', settings + '/tokens/access-tokens/' + id)) && showTokens(),
        ),
      )
    },
  )
  fill('tokens', rows, 'No access tokens.')
}

const applications = settings + '/applications/oauth2'

const showConsents = async () => {
  const rows = (await list(applications + '/grants')).map(({ applicationId, applicationName, scopes, updatedAt }) =>
    row(
      applicationName + ', ' + scopes.join(' ') + ', last used ' + day(updatedAt),
      button('Withdraw', applicationName, async () => {
        const done = await act('The access is withdrawn.', 'POST', applications + '/' + applicationId + '/revoke')
        if (done !== undefined) await showConsents()
      }),
    ),
  )
  fill('consents', rows, 'No application has access.')
}

const showSecret = (text) => {
  byId('new-application-text').textContent = text
  byId('new-application').hidden = text === ''
}

/** The path of the applications of the chosen owner. */
const ownedApplications = () => byId('application-owner').value

const showOwners = async () => {
  const [organizations, { json: user }] = await Promise.all([list('/user/orgs'), ask('GET', '/user')])
  const owners = [
    ['You', applications],
    ...organizations.map(({ username }) => [
      username,
      '/orgs/' + encodeURIComponent(username) + '/applications/oauth2',
    ]),
    ...(user?.is_admin === true ? [['This site', '/accounts/admin/applications/oauth2']] : []),
  ]
  const options = owners.map(([text, path]) => Object.assign(element('option', text), { value: path }))
  byId('application-owner').replaceChildren(...options)
  byId('application-owner').disabled = options.length === 1
}

const showApplications = async () => {
  const rows = (await list(ownedApplications())).map(({ id, name, clientId, redirectURIs, isPublic }) => {
    const path = ownedApplications() + '/' + id
    const rotate = async () => {
      const made = await act('The former secret is valid for one more day.', 'POST', path + '/regenerate_secret')
      if (made !== undefined) showSecret('Client id: ' + clientId + '\nClient secret: ' + made.json)
    }
    return row(
      [name, clientId, ...redirectURIs].join(', '),
      ...(isPublic ? [] : [button('New secret', name, rotate)]),
      button(
        'Remove',
        name,
        async () => (await act('The application is removed.', 'DELETE', path)) && showApplications(),
      ),
    )
  })
  fill('applications', rows, 'No application.')
}

const showSessions = async () => {
  const path = settings + '/security/sessions'
  const rows = (await list(path)).map(({ id, isActiveSession, lastAccessed, ip, user_agent }) => {
    const facts = [
      user_agent === '' ? 'unknown program' : user_agent,
      ip,
      'last used ' + day(lastAccessed),
      ...(isActiveSession ? ['this session'] : []),
    ]
    const end = button(
      'End',
      facts[0],
      async () => (await act('The session is ended.', 'DELETE', path + '/' + id + '/revoke')) && showSessions(),
    )
    return isActiveSession ? row(facts.join(', ')) : row(facts.join(', '), end)
  })
  fill('sessions', rows, 'No sessions.')
}

onSubmit('profile-form', async () => {
  const { elements } = byId('profile-form')
  const changed = Object.fromEntries(profileFields.map((name) => [name, elements[name].value]))
  await act('The profile is saved.', 'POST', settings + '/profile', {
    ...changed,
    keep_email_private: elements['keep_email_private'].checked,
  })
})

onSubmit('address-form', async () => {
  if (
    (await act('A mail with a link is sent to the address.', 'POST', settings + '/account/email', {
      email: byId('new-address').value.trim(),
    })) === undefined
  )
    return
  byId('address-form').reset()
  await showAddresses()
})

onSubmit('password-form', async () => {
  const [old_password, password, retype] = ['present-password', 'next-password', 'next-password-again'].map(
    (id) => byId(id).value,
  )
  const body = { old_password, password, retype, revoke_tokens: byId('revoke-tokens').checked }
  if (
    (await act(
      'The password is changed. Your other sessions are ended.',
      'POST',
      settings + '/account/password',
      body,
    )) === undefined
  )
    return
  byId('password-form').reset()
  await Promise.all([showSessions(), showTokens()])
})

byId('factor-offer').addEventListener('click', async () => {
  const offer = await act('', 'GET', settings + '/security/twofa/enroll')
  if (offer === undefined) return
  byId('factor-key').textContent = offer.json.twoFASecret
  byId('factor-picture').src = offer.json.twoFAImageURL
  byId('enroll-form').hidden = false
  byId('first-code').focus()
})

onSubmit('enroll-form', async () => {
  const enrolled = await act('The second factor is on.', 'POST', settings + '/security/twofa/enroll', {
    passCode: byId('first-code').value.trim(),
  })
  byId('first-code').value = ''
  if (enrolled === undefined) return
  byId('enroll-form').hidden = true
  byId('factor-key').textContent = ''
  byId('factor-picture').removeAttribute('src')
  showCodes(enrolled.json)
  await Promise.all([showFactor(), showSessions()])
})

onSubmit('factor-form', async () => {
  const what = byId('factor-act').value
  const proof = await proofFrom('factor-password', 'factor-code')
  if (proof === undefined) return
  const done = await act(
    what === 'disable' ? 'The authenticator app is removed.' : 'The codes before no longer work.',
    'POST',
    settings + '/security/twofa/' + what,
    proof,
  )
  if (done === undefined) return
  byId('factor-form').reset()
  showCodes(what === 'disable' ? '' : done.json)
  await Promise.all([showFactor(), showSessions()])
})

byId('passkey-form').querySelector('button').disabled = !hasPasskeySupport
onSubmit('passkey-form', async () => {
  const proof = await proofFrom('passkey-password', 'passkey-code')
  if (proof === undefined) return
  const name = byId('passkey-name').value.trim()
  const response = await makePasskey(webauthn + '/request_register', { name, ...proof })
  if (response === undefined) return
  const added = await act('The passkey is added.', 'POST', webauthn + '/register', response)
  if (added === undefined) return
  byId('passkey-form').reset()
  if (added.json.recoveryCodes !== undefined) {
    showCodes(added.json.recoveryCodes.join('\n'))
    tell('The passkey is added. Keep your recovery codes, which are shown above.')
  }
  await Promise.all([showFactor(), showSessions()])
})

onSubmit('token-form', async () => {
  const days = byId('token-days').value.trim()
  const expTime = days === '' ? 0 : Math.floor(Date.now() / 1000) + Number(days) * 86_400
  const reach = byId('token-reach').value
  const levels = [...byId('token-scopes').querySelectorAll('select')].map(({ name, value }) => [name, value])
  const scopes = {
    all: ['all'],
    read: levels.map(([category]) => 'read:' + category),
    some: levels.flatMap(([category, level]) => (level === '' ? [] : [level + ':' + category])),
  }[reach]
  const made = await act('The token is made.', 'POST', settings + '/tokens/access-tokens', {
    name: byId('token-name').value.trim(),
    expTime,
    scopes,
  })
  if (made === undefined) return
  byId('token-form').reset()
  byId('token-scopes').hidden = true
  byId('new-token-text').textContent = made.json.token
  byId('new-token').hidden = false
  await showTokens()
})

byId('token-reach').addEventListener('change', () => {
  byId('token-scopes').hidden = byId('token-reach').value !== 'some'
})
for (const category of byId('token-form').dataset.categories.split(' ')) {
  const choice = document.createElement('select')
  choice.name = category
  for (const [value, text] of [
    ['', 'nothing'],
    ['read', 'read'],
    ['write', 'read and change'],
  ]) {
    const option = element('option', text)
    option.value = value
    choice.append(option)
  }
  const label = element('label', category + ' ')
  label.className = 'check'
  label.append(choice)
  byId('token-scopes').append(label)
}
onSubmit('application-form', async () => {
  const made = await act('The application is registered.', 'POST', ownedApplications(), {
    name: byId('application-name').value.trim(),
    redirectUri: byId('application-redirects').value,
    isPublic: byId('application-public').checked,
  })
  if (made === undefined) return
  const { clientId, clientSecret } = made.json
  showSecret('Client id: ' + clientId + (clientSecret === '' ? '' : '\nClient secret: ' + clientSecret))
  byId('application-form').reset()
  await showApplications()
})
byId('application-owner').addEventListener('change', async () => {
  showSecret('')
  await showApplications()
})
addCopyButtons()

byId('end-others').addEventListener(
  'click',
  async () => (await act('All other sessions are ended.', 'DELETE', settings + '/security/sessions')) && showSessions(),
)

byId('leave').addEventListener('click', async () => {
  byId('parts').hidden = true
  showCodes('')
  byId('new-token').hidden = true
  showSecret('')
  byId('new-token-text').textContent = ''
  await signOut()
})

await signIn(async () => {
  await showOwners()
  const parts = [showProfile, showAddresses, showFactor, showLinks, showTokens, showConsents, showApplications]
  await Promise.all([...parts, showSessions].map((show) => show()))
  byId('parts').hidden = false
})
