import { ask, byId, onSubmit, root, showOnly, tell } from './kit.js'
import { endAutofill, hasPasskeySupport, offerByAutofill, onPress, usePasskey } from './passkeys.js'

const parts = ['sign-in-form', 'code-form', 'change-form']
const showPart = (id) => {
  endAutofill()
  showOnly(id, ...parts.filter((part) => part !== id))
}
const forget = () => {
  for (const part of parts) byId(part).reset()
  askPassword(false)
}

/** Shows or hides the field of the password: the name comes first, since its domain may lead to a provider. */
const askPassword = (isAsked) => {
  byId('password-rows').hidden = !isAsked
  byId('password').required = isAsked
  byId('sign-in-button').textContent = isAsked ? 'Sign in' : 'Continue'
}

const wrongCode =
  'This code is wrong or was used already. Wait for the next one; after many failed attempts, wait longer.'

/** Sends the browser to an identity provider. Returns why it cannot. */
export const beginAt = async (id, body = {}, path = '/user/oauth2/' + id) => {
  const { status, json, message } = await ask('POST', path, body)
  if (status !== 200) return message
  // The address comes from the provider's description: nothing but an address of the web is followed.
  const url = new URL(json.url)
  if (!url.protocol.startsWith('http')) return 'The identity provider has no usable address.'
  location.assign(url.href)
  return undefined
}

/** Returns where the sign-in began if `isExpected`; an empty text otherwise. Forgets it. */
const takeWaiting = (isExpected) => {
  const waiting = sessionStorage.getItem('moorage-continue') ?? ''
  sessionStorage.removeItem('moorage-continue')
  return isExpected(waiting) ? waiting : ''
}

/** Whether an address of this service is a path or below it. */
const isBelow = (path) => (waiting) =>
  waiting.startsWith(root + path) && /^(?:[/?]|$)/.test(waiting.slice(root.length + path.length))

/** Returns to the view of the console that asked to sign in. Reports whether there is one. */
export const returnToConsole = () => {
  const view = takeWaiting(isBelow('console'))
  if (view !== '') location.replace(view)
  return view !== ''
}

/** Continues with the account, where a link was asked for, or where the sign-in began: with an application, or alone. */
export const continueAfterProvider = ({ json }) => {
  const waiting = takeWaiting((each) => isBelow('console')(each) || isBelow('authorize')(each))
  location.replace(json.is_link ? root + 'account' : waiting || root + 'sign-in')
}

/** Lets the form of the code, or a passkey, complete a sign-in with an identity provider. */
export const onSecondFactor = (id, onDone, onRefused) => {
  /** Sends the second factor. `wrong` is what to say if it is not accepted. */
  const finishWith = async (factor, wrong) => {
    const reply = await ask('POST', '/user/oauth2/' + id + '/twofa', factor)
    if (reply.status === 200) return onDone(reply)
    if (reply.status === 401) return tell(wrong, true)
    byId('code-form').hidden = true
    onRefused(reply.message)
  }
  onSubmit('code-form', async () => {
    const passCode = byId('one-time-code').value.trim()
    byId('one-time-code').value = ''
    await finishWith({ passCode }, wrongCode)
  })
  for (const choice of document.querySelectorAll('.passkey')) choice.hidden = !hasPasskeySupport
  onPress(byId('passkey-factor'), async () => {
    const passkey = await usePasskey('/user/signin/passkey/request')
    if (passkey !== undefined)
      await finishWith({ passkey }, 'This passkey was not accepted. It may be of another account.')
  })
}

/** Shows a button for each identity provider of the site. */
const showProviders = async () => {
  const { status, json } = await ask('GET', '/user/oauth2')
  if (status !== 200 || !Array.isArray(json) || json.length === 0) return
  const rows = json.map(({ id, display_name }) => {
    const row = document.createElement('li')
    const button = document.createElement('button')
    button.type = 'button'
    button.textContent = display_name
    button.addEventListener('click', async () => {
      const problem = await beginAt(id)
      if (problem !== undefined) tell(problem, true)
    })
    row.append(button)
    return row
  })
  byId('provider-buttons').replaceChildren(...rows)
  byId('providers').hidden = false
}

/** Returns the provider that the address leads to; 0 if the password is asked for. */
const providerOf = async (name) => {
  if (!name.includes('@')) return 0
  const { status, json } = await ask('POST', '/user/oauth2/search', { address: name })
  return status === 200 ? json.provider_id : 0
}

/** Returns the name of the signed-in user, or undefined. Shows the form that is needed next. */
const callerOf = async () => {
  const answer = await ask('GET', '/user/settings/profile')
  if (answer.status === 200) return answer.json.name
  if (answer.json.code === 'PasswordChangeRequired') {
    showPart('change-form')
    tell('A new password is needed before anything else.')
  } else if (answer.status === 401) showPart('sign-in-form')
  else {
    showPart('sign-in-form')
    tell(answer.message, true)
  }
  return undefined
}

/** Offers passkeys in the field of the name. */
let offerAgain = () => undefined

/** Asks for name, password and code if they are needed, and then calls `onSignedIn` with the name of the user. */
export const signIn = async (onSignedIn) => {
  const goOn = async () => {
    const caller = await callerOf()
    if (caller === undefined) return
    forget()
    for (const part of parts) byId(part).hidden = true
    await onSignedIn(caller)
  }
  const credentials = () => ({
    username: byId('username').value.trim(),
    password: byId('password').value,
    remember: byId('remember').checked,
  })

  onSubmit('sign-in-form', async () => {
    if (byId('password-rows').hidden) {
      const provider = await providerOf(byId('username').value.trim())
      const problem = provider === 0 ? undefined : await beginAt(provider)
      if (provider !== 0 && problem === undefined) return
      if (problem !== undefined) tell(problem, true)
      askPassword(true)
      return byId('password').focus()
    }
    const answer = await ask('POST', '/user/signin', credentials())
    if (answer.status === 200) return goOn()
    if (answer.status === 405 && answer.json.code === 'SecondFactorNeeded') return showPart('code-form')
    tell(answer.message, true)
    byId('password').focus()
  })
  onSubmit('code-form', async () => {
    const answer = await ask('POST', '/user/signin/twofa', {
      ...credentials(),
      passCode: byId('one-time-code').value.trim(),
    })
    byId('one-time-code').value = ''
    if (answer.status === 200) return goOn()
    if (answer.status === 404) {
      showPart('sign-in-form')
      void offerAgain()
    }
    // The message of the service is for programs: it names a header.
    tell(answer.status === 401 ? wrongCode : answer.message, true)
  })
  for (const choice of document.querySelectorAll('.passkey')) choice.hidden = !hasPasskeySupport
  const challenge = '/user/signin/passkey/request'
  /** Returns whether the user is signed in. */
  const sendPasskey = async (path, body, passkey) => {
    const answer = passkey && (await ask('POST', path, { ...body, passkey }))
    if (answer?.status === 200) {
      await goOn()
      return true
    }
    if (answer)
      tell(
        answer.status === 401 ? 'This passkey was not accepted. Try again, or use another one.' : answer.message,
        true,
      )
    return false
  }
  const sendAlone = (passkey) => sendPasskey('/user/signin/passkey', { remember: byId('remember').checked }, passkey)
  // The challenge is valid for five minutes. A passkey that is chosen later is refused, and offered again.
  offerAgain = () => offerByAutofill(challenge, async (passkey) => (await sendAlone(passkey)) || offerAgain())
  onPress(byId('passkey-sign-in'), async () => {
    if (!(await sendAlone(await usePasskey(challenge)))) void offerAgain()
  })
  onPress(byId('passkey-factor'), async () =>
    sendPasskey('/user/signin/twofa', credentials(), await usePasskey(challenge)),
  )
  onSubmit('change-form', async () => {
    const [old_password, password, retype] = [
      byId('old-password').value,
      byId('new-password').value,
      byId('new-password-again').value,
    ]
    const answer = await ask('POST', '/user/settings/account/password', { old_password, password, retype })
    if (answer.status !== 200) return tell(answer.message, true)
    await goOn()
  })
  await goOn()
  if (byId('sign-in-form').hidden) return
  void offerAgain()
  await showProviders()
}

/** Ends the session, also at the identity provider that opened it, and shows the first form. */
export const signOut = async () => {
  const elsewhere = await ask('GET', '/user/oauth2/end-session')
  const answer = await ask('GET', '/user/signout')
  if (answer.status !== 200 && answer.status !== 401) return tell(answer.message, true)
  const url = elsewhere.status === 200 ? elsewhere.json.url : ''
  if (url.startsWith('http')) return location.assign(url)
  forget()
  showPart('sign-in-form')
  void offerAgain()
  tell('Signed out.')
}
