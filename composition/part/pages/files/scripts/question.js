import { byId, onSubmit, tell } from './kit.js'
import { signOut } from './sign-in-form.js'

/** Shows what a program asks for. Texts of applications are shown as text, never as HTML. */
export const showQuestion = (question, login) => {
  byId('question-name').textContent = question.application
  byId('question-login').textContent = login
  byId('question-owner').textContent = question.is_trusted
    ? 'The administrators of this site vouch for it.'
    : question.owner === ''
      ? 'It is registered by this site.'
      : 'It is registered by ' + question.owner + '. Allow it only if you know it.'
  const logo = byId('question-logo')
  logo.hidden = question.logo === ''
  if (question.logo !== '') logo.src = question.logo
  byId('question-scopes').replaceChildren(
    ...question.asks_for.map((sentence) => Object.assign(document.createElement('li'), { textContent: sentence })),
  )
  byId('question').hidden = false
  byId('question').querySelector('h2').focus()
}

export const hideQuestion = () => {
  byId('question').hidden = true
}

/** Calls `answer` with true or false when the person has pressed a button: nothing is answered without that. */
export const onAnswer = (answer) => {
  onSubmit('question', () => answer(true))
  byId('question-refuse').addEventListener('click', () => answer(false))
  byId('question-other').addEventListener('click', async () => {
    hideQuestion()
    await signOut()
    tell('Sign in with the other account.')
  })
}
