// One tree of the forest at a time. All of them have been drawn while they were visible.
(() => {
  const trees = Array.from(document.querySelectorAll(".bosc-forest-tree"));
  const choice = document.querySelector(".bosc-forest-choice select");
  const head = document.querySelector(".bosc-forest");
  const show = (chosen) => trees.forEach((tree, number) => (tree.hidden = number !== chosen));
  show(0);
  if (choice) choice.addEventListener("change", () => show(Number(choice.value)));
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const paint = () => (head.dataset.theme = system.matches ? "dark" : "light");
  system.addEventListener("change", paint);
  paint();
})();
