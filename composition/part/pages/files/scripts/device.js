import { ask, byId, onSubmit, showOnly, tell } from './kit.js'
import { hideQuestion, onAnswer, showQuestion } from './question.js'
import { signIn } from './sign-in-form.js'

// The address may have the code. It is filled in, and answered by nothing but a press of a button.
byId('user-code').value = new URLSearchParams(location.search).get('user_code') ?? ''
history.replaceState(null, '', location.pathname)

let user = ''
let user_code = ''

onSubmit('user-code-form', async () => {
  user_code = byId('user-code').value.trim()
  const { status, json, message } = await ask('POST', '/user/devices/search', { user_code })
  if (status !== 200) return tell(message, true)
  byId('user-code-form').hidden = true
  byId('question-agent').textContent = json.user_agent === '' ? 'unknown' : json.user_agent
  byId('question-address').textContent = json.source_ip
  byId('question-time').textContent = new Date(json.started_at * 1_000).toLocaleString()
  byId('question-device').hidden = false
  byId('question-hint').textContent =
    'If you did not start this program yourself just now, or another person sent you the code, refuse.'
  showQuestion(json, user)
})

onAnswer(async (is_accepted) => {
  const { status, message } = await ask('POST', '/user/devices', { user_code, is_accepted })
  hideQuestion()
  if (status !== 200) {
    showOnly('user-code-form')
    return tell(message, true)
  }
  tell(is_accepted ? 'Done. Go back to the device; you can close this page.' : 'Refused. The program has no access.')
})

await signIn((login) => {
  user = login
  showOnly('user-code-form')
})
