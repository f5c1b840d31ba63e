import { ask, byId, onSubmit, showOnly, tell } from './kit.js'
import { beginAt, continueAfterProvider, onSecondFactor } from './sign-in-form.js'

// The page is at /user/oauth2/ID: a provider sends the browser here to begin a sign-in, and a directory asks here for
// the name and the password.
const id = location.pathname.split('/')[3]
const query = new URLSearchParams(location.search)
const [iss, state] = [query.get('iss'), query.get('state')]

const refuse = (message) => {
  tell(message, true)
  byId('again').hidden = false
}

onSecondFactor(id, continueAfterProvider, refuse)
onSubmit('password-form', async () => {
  const body = { state, username: byId('username').value.trim(), password: byId('password').value }
  const reply = await ask('POST', '/user/oauth2/' + id + '/password', body)
  byId('password').value = ''
  if (reply.status === 200) return continueAfterProvider(reply)
  if (reply.status === 405 && reply.json.code === 'SecondFactorNeeded') {
    showOnly('code-form', 'password-form')
    return tell('Your identity provider let you in. Enter a one-time code of this account too, or use a passkey.')
  }
  refuse(reply.message)
  byId('password').focus()
})

if (state !== null) showOnly('password-form')
else {
  tell('You are sent to your identity provider…')
  const problem = await beginAt(id, iss === null ? {} : { iss })
  if (problem !== undefined) refuse(problem)
}
