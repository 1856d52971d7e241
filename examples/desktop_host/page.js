/** The page: what is remembered, and what is asked. Text of the memory is shown as text, never as HTML. */

const { pioneer } = window;
const answer = document.getElementById("answer");

async function showMemories() {
  const { result, error } = await pioneer.list({});
  const lines = error ? [error.message] : result.records.map((record) => record.content);
  const items = lines.map((line) => Object.assign(document.createElement("li"), { textContent: line }));
  document.getElementById("memories").replaceChildren(...items);
}

/** Call a function with the text of a form's field each time the form is sent. */
function onSubmit(id, act) {
  const form = document.getElementById(id);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    act(form.elements[0].value);
    form.reset();
  });
}

onSubmit("remember", async (content) => {
  const { error } = await pioneer.remember({ content });
  if (error) answer.textContent = error.message;
});
onSubmit("ask", async (text) => {
  answer.textContent = "";
  const { result, error } = await pioneer.ask(text);
  answer.textContent = error ? error.message : result;
});
pioneer.on((name, params) => {
  if (name === "item/agent_message/delta") answer.textContent += params.delta;
  if (name.startsWith("memory/") || name === "restarted") showMemories();
});
showMemories();
