import { ask, byId, onSubmit, showOnly, tell } from './kit.js'
import { hasPasskeySupport, onPress, usePasskey } from './passkeys.js'

const parts = ['sign-in-form', 'code-form', 'change-form']
const showPart = (id) => showOnly(id, ...parts.filter((part) => part !== id))
const forget = () => {
  for (const part of parts) byId(part).reset()
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
    if (answer.status === 404) showPart('sign-in-form')
    // The message of the service is for programs: it names a header.
    tell(
      answer.status === 401
        ? 'This code is wrong or was used already. Wait for the next one; after many failed attempts, wait longer.'
        : answer.message,
      true,
    )
  })
  for (const choice of document.querySelectorAll('.passkey')) choice.hidden = !hasPasskeySupport
  const signInByPasskey = async (path, body) => {
    const passkey = await usePasskey('/user/signin/passkey/request')
    if (passkey === undefined) return
    const answer = await ask('POST', path, { ...body, passkey })
    if (answer.status === 200) return goOn()
    tell(answer.status === 401 ? 'This passkey was not accepted. It may be of another account.' : answer.message, true)
  }
  onPress(byId('passkey-sign-in'), () =>
    signInByPasskey('/user/signin/passkey', { remember: byId('remember').checked }),
  )
  onPress(byId('passkey-factor'), () => signInByPasskey('/user/signin/twofa', credentials()))
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
}

/** Ends the session and shows the first form. */
export const signOut = async () => {
  const answer = await ask('GET', '/user/signout')
  if (answer.status !== 200 && answer.status !== 401) return tell(answer.message, true)
  forget()
  showPart('sign-in-form')
  tell('Signed out.')
}
