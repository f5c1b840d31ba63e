import { ask, byId, showOnly, tell } from './kit.js'
import { continueAfterProvider, onSecondFactor } from './sign-in-form.js'

// The page is at /user/oauth2/ID/callback: the provider sends the browser here with its answer.
const id = location.pathname.split('/')[3]
const answer = new URLSearchParams(location.search)
// The code is used once, and must not stay in the address bar or the history.
history.replaceState(null, '', location.pathname)

const refuse = (message) => {
  tell(message, true)
  byId('again').hidden = false
}

onSecondFactor(id, continueAfterProvider, refuse)

const sent = Object.fromEntries(
  ['state', 'code', 'iss', 'error'].filter((name) => answer.has(name)).map((name) => [name, answer.get(name)]),
)
if (sent.state === undefined)
  refuse('This page completes a sign-in with an identity provider. Begin on the sign-in page.')
else {
  tell('Signing in…')
  const reply = await ask('POST', '/user/oauth2/' + id + '/callback', sent)
  if (reply.status === 200) continueAfterProvider(reply)
  else if (reply.status === 405 && reply.json.code === 'SecondFactorNeeded') {
    showOnly('code-form')
    tell('Your identity provider let you in. Enter a one-time code of this account too, or use a passkey.')
  } else refuse(reply.message)
}
