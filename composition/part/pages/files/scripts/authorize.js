import { ask, byId, tell } from './kit.js'
import { hideQuestion, onAnswer, showQuestion } from './question.js'
import { signIn, signOut } from './sign-in-form.js'

// An application sent the browser here: the address says which question it is, and a cookie that it was this browser.
const asked = new URLSearchParams(location.search)
const ref = { id: asked.get('id') ?? '', key: asked.get('key') ?? '' }
const query = '/user/authorizations?' + new URLSearchParams(ref)

const refuse = (message) => {
  hideQuestion()
  byId('lead').hidden = true
  tell(message, true)
  byId('over').hidden = false
}

const answer = async (is_accepted) => {
  const { status, json, message } = await ask('POST', '/user/authorizations', { ...ref, is_accepted })
  if (status !== 200) return refuse(message)
  hideQuestion()
  tell('Continuing…')
  // The address is that of this service, which leads on to the application.
  if (new URL(json.url).origin !== location.origin)
    return refuse('The service answered with an address of another host.')
  location.replace(json.url)
}

onAnswer(answer)

const first = await ask('GET', query)
if (first.status !== 200) refuse(first.message)
else {
  byId('application').textContent = first.json.application
  byId('lead').hidden = false
  // A sign-in with an identity provider comes back to this page.
  sessionStorage.setItem('moorage-continue', location.pathname + location.search)
  await signIn(async (login) => {
    const { status, json, message } = await ask('GET', query)
    if (status !== 200) return refuse(message)
    if (json.must_sign_in_again) {
      await signOut()
      return tell(json.application + ' demands that you sign in again.')
    }
    sessionStorage.removeItem('moorage-continue')
    byId('lead').hidden = true
    if (json.needs_consent) return showQuestion(json, login)
    await answer(true)
  })
}
