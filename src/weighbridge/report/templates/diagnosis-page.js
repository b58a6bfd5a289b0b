for (const input of document.querySelectorAll('input[name="language"]')) {
  input.addEventListener("change", () => {
    document.documentElement.lang = input.value;
    document.title = input.dataset.title;
  });
}
